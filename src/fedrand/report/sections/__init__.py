"""The page's sections, one file each: data in, markup out."""
