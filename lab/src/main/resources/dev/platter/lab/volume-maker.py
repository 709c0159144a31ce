"""A container that makes volumes: a front of the storage that listens at STORAGE, PORT or HOST:PORT.

BEHAVIOUR says how it goes wrong.
"""
import http.server
import os
import socket
import ssl
import sys
import time

behaviour = os.environ.get("BEHAVIOUR", "")


def storage(line):
    host, _, port = os.environ["STORAGE"].rpartition(":")
    with socket.create_connection((host or "127.0.0.1", int(port))) as connection:
        connection.sendall((line + "\n").encode())
        return connection.makefile().readline().strip()


class Volume(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", location=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)

    def name(self):
        name = self.headers["Platter-Volume"]
        assert name == self.headers["Idempotency-Key"] == os.environ["PLATTER_VOLUME"]
        return name

    def do_GET(self):
        self.answer(200 if self.path == "/ready" else 404)

    def do_PUT(self):
        name = self.name()
        if behaviour == "forbids":
            return self.answer(403, b"no quota left \x1b[31mred")
        if behaviour == "redirects":
            return self.answer(307, location="http://127.0.0.1:1/volume")
        storage("make " + name)
        if behaviour == "fails":
            return self.answer(500, b"half of it is made")
        if behaviour == "dies":
            print("out of memory \x1b[31mred", flush=True)
            os._exit(1)
        if behaviour.startswith("hangs"):
            time.sleep(2)
        if behaviour == "hangs and dies":
            os._exit(1)
        if behaviour == "says too much":
            return self.answer(200, b"# " + b"x" * 100_000 + b"\npvc: {claimname: big}\n")
        if behaviour == "trickles":
            self.send_response(200)
            self.send_header("Content-Length", "50")
            self.end_headers()
            for _ in range(10):
                self.wfile.write(b"#")
                self.wfile.flush()
                time.sleep(0.2)
            return None
        if behaviour.startswith("answers "):
            return self.answer(200, behaviour[len("answers "):].encode())
        return self.answer(201, b"pvc:\n  claimname: made-for-you\n")

    def do_DELETE(self):
        if "keeps" in behaviour and storage("broken?") == "yes":
            return self.answer(503, b"not now")
        self.answer(200 if storage("delete " + self.name()) == "gone" else 404)


print("user", os.getuid(), flush=True)
if behaviour == "ends at once":
    print("cannot find my disk", flush=True)
    sys.exit(3)
if behaviour == "never listens":
    time.sleep(1000)
address = (os.environ["PLATTER_LISTEN"], int(os.environ["PORT"]))
server = http.server.HTTPServer(address, Volume)
if "PLATTER_TLS" in os.environ:
    tls = os.environ["PLATTER_TLS"]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls + "/tls.crt", tls + "/tls.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
