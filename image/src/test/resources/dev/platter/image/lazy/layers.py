"""Makes an OCI layout from lines: "image TAG", "layer gzip|plain", and the entries of the layer:
"F PATH TEXT", "D PATH", "H PATH TARGET", "S PATH TARGET"."""
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile

out = sys.argv[1]
os.makedirs(out + "/blobs/sha256")


def blob(data, media_type):
    digest = hashlib.sha256(data).hexdigest()
    with open(out + "/blobs/sha256/" + digest, "wb") as f:
        f.write(data)
    return {"mediaType": media_type, "digest": "sha256:" + digest, "size": len(data)}


def tar(lines):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for kind, path, *rest in lines:
            info = tarfile.TarInfo(path)
            info.mode = 0o755
            content = b""
            if kind == "F":
                content = (rest[0] * 200).encode() if rest else b""
                info.size = len(content)
            elif kind == "D":
                info.type = tarfile.DIRTYPE
            else:
                info.type = tarfile.LNKTYPE if kind == "H" else tarfile.SYMTYPE
                info.linkname = rest[0]
            archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


images = []
for line in sys.stdin.read().splitlines():
    words = line.split(" ")
    if words[0] == "image":
        images.append((words[1], []))
    elif words[0] == "layer":
        images[-1][1].append((words[1], []))
    else:
        images[-1][1][-1][1].append(words)

manifests = []
for tag, layers in images:
    blobs, ids = [], []
    for packing, lines in layers:
        data = tar(lines)
        ids.append("sha256:" + hashlib.sha256(data).hexdigest())
        kind = "application/vnd.oci.image.layer.v1.tar"
        if packing == "gzip":
            blobs.append(blob(gzip.compress(data, mtime=0), kind + "+gzip"))
        else:
            blobs.append(blob(data, kind))
    config = {"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": ids}}
    manifest = {
        "schemaVersion": 2,
        "config": blob(json.dumps(config).encode(), "application/vnd.oci.image.config.v1+json"),
        "layers": blobs,
    }
    entry = blob(json.dumps(manifest).encode(), "application/vnd.oci.image.manifest.v1+json")
    entry["annotations"] = {"org.opencontainers.image.ref.name": tag}
    manifests.append(entry)

with open(out + "/index.json", "w") as f:
    json.dump({"schemaVersion": 2, "manifests": manifests}, f)
with open(out + "/oci-layout", "w") as f:
    json.dump({"imageLayoutVersion": "1.0.0"}, f)
