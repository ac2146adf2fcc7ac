"""`anabranch doctor`: what is wrong with this machine or this project."""
