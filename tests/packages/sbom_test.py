#!/usr/bin/env python3
"""sbom_test.py BUILD VERSION: the bill of materials of a build against the rules of SPDX 2.3 (the fields that its schema requires, and how
they must look), and against what was built: each library that a file of the build needs, and each model with its checksum, is in it."""
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

BUILD, VERSION = pathlib.Path(sys.argv[1]), sys.argv[2]
ELEMENT = re.compile(r"SPDXRef-[A-Za-z0-9.-]+")
# Of SPDX's list; another one is added here when a dependency brings it.
LICENCES = {"Apache-2.0", "BSD-3-Clause", "BSD-2-Clause", "CC-BY-SA-3.0", "EPL-2.0", "GPL-2.0-or-later", "GPL-3.0-or-later", "ISC", "LGPL-2.1-only",
            "LGPL-2.1-or-later", "MIT", "PSF-2.0", "curl", "libpng-2.0"}
EXCEPTIONS = {"GCC-exception-3.1", "LLVM-exception"}
RELATIONS = {"DESCRIBES", "CONTAINS", "DYNAMIC_LINK", "STATIC_LINK", "OPTIONAL_DEPENDENCY_OF"}
PURPOSES = {"APPLICATION", "LIBRARY", "OTHER"}
problems = []


def check(good, what):
    if not good:
        problems.append(what)


def check_licence(text, place):
    """A NOASSERTION, or terms with AND, OR and WITH."""
    if text == "NOASSERTION":
        return
    for term in re.split(r" AND | OR ", text):
        name, _, exception = term.strip("()").partition(" WITH ")
        check(name in LICENCES, f"{place}: the licence {name} is not one of SPDX's that are known here")
        check(not exception or exception in EXCEPTIONS, f"{place}: the exception {exception} is not known")


def check_document(document):
    for field, value in {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"runnel-{VERSION}"}.items():
        check(document.get(field) == value, f"{field}: {document.get(field)}, expected {value}")
    check(re.fullmatch(r"https://[^#\s]+", document.get("documentNamespace", "")), "documentNamespace: expected an address without #")
    created = document.get("creationInfo", {})
    check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created.get("created", "")), "creationInfo: created: expected a time in UTC")
    check(created.get("creators") and all(re.match(r"(Tool|Person|Organization): .", each) for each in created["creators"]), "creators")
    ids = ["SPDXRef-DOCUMENT"]
    for package in document.get("packages", []):
        place = package.get("name", "a package without a name")
        ids.append(package.get("SPDXID", ""))
        check(ELEMENT.fullmatch(package.get("SPDXID", "")), f"{place}: SPDXID {package.get('SPDXID')}")
        for field in ("name", "downloadLocation", "licenseDeclared", "licenseConcluded", "copyrightText"):
            check(isinstance(package.get(field), str) and package[field], f"{place}: {field} is missing")
        check(package.get("filesAnalyzed") is False, f"{place}: filesAnalyzed: expected false, because there is no packageVerificationCode")
        check(package.get("primaryPackagePurpose") in PURPOSES, f"{place}: primaryPackagePurpose")
        for field in ("licenseDeclared", "licenseConcluded"):
            check_licence(package.get(field, ""), place)
        check(package.get("licenseDeclared") != "NOASSERTION", f"{place}: its licence is not known")
        for sum_ in package.get("checksums", []):
            check(sum_["algorithm"] == "SHA256" and re.fullmatch(r"[0-9a-f]{64}", sum_["checksumValue"]), f"{place}: checksum")
        for reference in package.get("externalRefs", []):
            check(reference["referenceCategory"] == "PACKAGE-MANAGER" and reference["referenceType"] == "purl", f"{place}: reference")
            check(re.fullmatch(r"pkg:deb/debian/[a-z0-9.%B-]+@[A-Za-z0-9.%~-]+\?arch=[a-z0-9]+", reference["referenceLocator"]),
                  f"{place}: {reference['referenceLocator']}")
    check(len(ids) == len(set(ids)), "an SPDXID is there twice")
    check(document.get("documentDescribes") == ["SPDXRef-Package-runnel"], "documentDescribes")
    related = set()
    for relation in document.get("relationships", []):
        check(relation["relationshipType"] in RELATIONS, f"{relation}: its type")
        for end in ("spdxElementId", "relatedSpdxElement"):
            check(relation[end] in ids, f"{relation}: there is no {relation[end]}")
            related.add(relation[end])
    check(related == set(ids), f"without a relationship: {sorted(set(ids) - related)}")


def check_build(document):
    """What the files of the build say themselves."""
    packages = {package["name"]: package for package in document["packages"]}
    own = packages["runnel"]
    check(own.get("versionInfo") == VERSION, f"runnel: version {own.get('versionInfo')}, expected {VERSION}")
    needed = set()
    files = [BUILD / "runnel", *BUILD.glob("lib/librunnel.so.*"), *BUILD.glob("lib/runnel/*.so"), *BUILD.glob("python/runnel/_runnel*.so")]
    check(len(files) >= 2, f"{len(files)} files in {BUILD}, expected the program and the library at least")
    for file in files:
        dynamic = subprocess.run(["readelf", "-dW", file], stdout=subprocess.PIPE, text=True, check=True).stdout
        needed.update(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
    needed = {library for library in needed if not library.startswith("librunnel")}
    check("libc.so.6" in needed, "no file needs the C library")
    owners_of = {library: set() for library in needed}
    if shutil.which("dpkg-query"):
        found = subprocess.run(["dpkg-query", "-S", *(f"*/{library}" for library in sorted(needed))], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, check=False).stdout
        for line in found.splitlines():
            owner, _, path = line.partition(": ")
            owners_of.get(path.rsplit("/", 1)[-1], set()).add(re.split("[:,]", owner)[0])
    for library, found in sorted(owners_of.items()):
        owners = found or {library}
        check(owners & packages.keys(), f"{library} of {sorted(owners)} is linked and not in the document")
        for owner in owners & packages.keys():
            if found:
                check(packages[owner].get("versionInfo"), f"{owner}: its version is missing")
    if "libfftw3f.so.3" in needed:
        check(own["licenseConcluded"] == "GPL-3.0-or-later", f"runnel: {own['licenseConcluded']}, although FFTW is linked")
    models = {path.stem: path for path in (BUILD / "models").glob("*/*.rnl")}
    check(models, "no models were built")
    listed = {package["name"].removeprefix("model ") for package in document["packages"] if package["name"].startswith("model ")}
    check(listed == set(models), f"models {sorted(listed)}, expected {sorted(models)}")
    for name in listed & set(models):
        found = hashlib.sha256(models[name].read_bytes()).hexdigest()
        value = packages[f"model {name}"]["checksums"][0]["checksumValue"]
        check(value == found, f"model {name}: SHA-256 {value}, the file has {found}")
        card = json.loads((models[name].parent / "card.json").read_text(encoding="utf-8"))
        check(packages[f"model {name}"]["licenseDeclared"] == card["licence"], f"model {name}: another licence than its card has")


def main():
    document = json.loads((BUILD / "runnel.spdx.json").read_text(encoding="utf-8"))
    check_document(document)
    check_build(document)
    # The rules find something: each of these changes must be named.
    good = len(problems)
    for change in (lambda d: d.update(spdxVersion="SPDX-2.2"), lambda d: d["packages"][0].pop("licenseDeclared"),
                   lambda d: d["packages"][1].update(SPDXID=d["packages"][0]["SPDXID"]), lambda d: d["packages"].pop(),
                   lambda d: d["packages"][1].update(licenseDeclared="free"), lambda d: d["relationships"].pop()):
        other = json.loads(json.dumps(document))
        change(other)
        before = len(problems)
        check_document(other)
        if len(problems) == before:
            del problems[good:]
            problems.append("a damaged document was not found out")
            break
        del problems[before:]
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(document['packages'])} packages, {len(document['relationships'])} relationships, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
