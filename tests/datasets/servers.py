"""A web server on this machine that misbehaves as told."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """Serves `files` by path. `faults` gives for each path a list of what to do to its answers, one after the other:

    an int cuts the answer off after so many bytes, "truncate" sends less than it should and says nothing, "ignore
    range" sends the whole, "elsewhere" sends another range than asked for, an "3xx path" redirects, "503" fails,
    "corrupt" changes a byte, "more" sends too much.
    """

    def __init__(self, files):
        self.files = files
        self.faults = {}
        self.asked = []
        self.address = ""

    def url(self, path):
        return f"{self.address}/{path}"


@contextmanager
def serving(files):
    state = Server(files)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path = self.path.lstrip("/")
            state.asked.append((path, self.headers.get("Range")))
            faults = state.faults.get(path, [])
            answer(self, state.files, path, faults.pop(0) if faults else None)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(handler, files, path, fault):
    if isinstance(fault, str) and fault[:1] in "345" and fault[:3].isdigit():
        handler.send_response(int(fault[:3]))
        if fault[0] == "3":
            handler.send_header("Location", fault[4:])
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return
    if path not in files:
        handler.send_error(404)
        return
    content = files[path]
    if fault == "corrupt":
        content = bytes([content[0] ^ 1]) + content[1:]
    if fault == "more":
        content += b"more"
    start = 0
    asked = handler.headers.get("Range")
    if asked and fault != "ignore range":
        start = int(asked.removeprefix("bytes=").rstrip("-"))
        if start >= len(content):
            handler.send_error(416)
            return
        start = max(0, start - 3) if fault == "elsewhere" else start
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
    else:
        handler.send_response(200)
    body = content[start:]
    if fault == "truncate":
        body = body[: len(body) // 2]
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[:fault] if isinstance(fault, int) else body)
