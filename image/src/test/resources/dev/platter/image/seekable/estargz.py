"""Is this layer what docs/estargz.md of stargz-snapshotter says? Prints its table of contents."""

import gzip
import hashlib
import io
import json
import struct
import sys
import tarfile
import zlib

blob = open(sys.argv[1], "rb").read()


def member(at):
    """Content and end of the gzip member that starts at a byte of the blob."""
    inflate = zlib.decompressobj(31)
    plain = inflate.decompress(blob[at:])
    assert inflate.eof, f"no whole gzip member at {at}"
    return plain, len(blob) - len(inflate.unused_data)


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


# The footer, field by field.
footer = blob[-51:]
assert footer[:4] == b"\x1f\x8b\x08\x04"
xlen, si, length = struct.unpack("<H2sH", footer[10:16])
assert (xlen, si, length) == (26, b"SG", 22)
assert footer[32:38] == b"STARGZ"
assert footer[38:43] == b"\x01\x00\x00\xff\xff"
assert member(len(blob) - 51) == (b"", len(blob))
toc_offset = int(footer[16:32], 16)

# Every member is known by its start; each has the same header: no time, no name.
starts, at = {}, 0
while at < len(blob):
    assert blob[at : at + 10][4:8] == b"\0\0\0\0" and blob[at + 3] in (0, 4)
    plain, end = member(at)
    starts[at] = plain
    at = end
assert toc_offset in starts

# The tar: the table of contents is its last entry and starts a member.
tar = tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob)))
entries = tar.getmembers()
assert entries[-1].name == "stargz.index.json"
document = tar.extractfile(entries[-1]).read()
assert starts[toc_offset][512 : 512 + len(document)] == document
toc = json.loads(document)
assert toc["version"] == 1

# All tar entries but the last are in the table, in order, and say the same.
files = [e for e in toc["entries"] if e["type"] != "chunk"]
assert [f["name"].rstrip("/") for f in files] == [e.name for e in entries[:-1]]
for f, e in zip(files, entries):
    assert f["type"] == ("dir" if e.isdir() else "reg")
    assert (f["mode"], f["uid"], f["gid"]) == (e.mode, e.uid, e.gid)
    assert f.get("size", 0) == e.size
    assert e.mtime == 0
assert tar.extractfile(".no.prefetch.landmark").read() == b"\x0f"

# Chunks: the first is the file's entry, the last has no size, each is at the start of a member.
for f in files:
    if f["type"] != "reg":
        continue
    content = tar.extractfile(f["name"]).read()
    assert f["digest"] == sha256(content)
    chunks = [c for c in toc["entries"] if c["name"] == f["name"]]
    assert all(c["type"] == "chunk" for c in chunks[1:])
    position = 0
    for c in chunks:
        assert c.get("chunkOffset", 0) == position
        size = c.get("chunkSize", 0)
        assert (size == 0) == (c is chunks[-1])
        size = size or f["size"] - position
        plain = starts[c["offset"]][:size]
        assert plain == content[position : position + size]
        assert c["chunkDigest"] == sha256(plain)
        position += size
    assert position == f["size"]

print(sha256(document), toc_offset, len(starts))
