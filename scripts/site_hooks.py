"""What the site's configuration calls."""
import re


def slug(text, separator):
    """Anchors as code hosts make them, so that links of pages work in both places."""
    kept = re.sub(r"[^\w\- ]", "", text.strip().lower())
    return kept.replace(" ", separator)
