"""The commands: options in, one call of `app`, a table or a document out."""
