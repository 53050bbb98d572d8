"""A table between the marks of a page."""
import sys


def put_into(page, name, table):
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    text = page.read_text()
    if text.count(begin) != 1 or text.count(end) != 1:
        sys.exit(f"{page}: expected one line {begin.strip()} and one {end}")
    head, rest = text.split(begin)
    page.write_text(head + begin + "\n" + "\n".join(table) + "\n\n" + end + rest.split(end)[1])
