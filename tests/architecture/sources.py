"""Names in C++ sources, and the tables of pages or files that must list where they are."""
import re


def code(text):
    """The text without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def uses_of(root, folders, names, places):
    """Looks for the pattern `names` in all C++ sources below the folders. A place is a source, or a folder with / at its end.

    Gives how many sources with such a name each place holds, and (source, first name) of those that no place holds.
    """
    uses, alone = dict.fromkeys(places, 0), []
    for folder in folders:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".cpp", ".h") or not file.is_file():
                continue
            name = names.search(code(file.read_text(encoding="utf-8", errors="replace")))
            if name is None:
                continue
            path = file.relative_to(root).as_posix()
            holders = [place for place in places if path == place or (place.endswith("/") and path.startswith(place))]
            for place in holders:
                uses[place] += 1
            if not holders:
                alone.append((path, name[0]))
    return uses, alone
