"""What validation's checks ask of staging and base, measured by Spark."""
