"""A remote MCP server with its own authorization server, which misbehaves as it is told. Standard library only.

Prints its port. POST /control with a JSON object sets: `life` (seconds of an access token), `refresh` (`good`, `refused`,
`broken`), `token` (`good`, `broken`), `issuer` (what `iss` says; null for its own), `needs` (scopes that a call needs),
`rejects` (the server takes no token that is made from now on), `revoke` (every access token counts for nothing).
GET /control tells what was counted.
"""

import json
import secrets
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SETTINGS = {"life": 3600, "refresh": "good", "token": "good", "issuer": None, "needs": [], "rejects": False}
CODES: dict[str, dict] = {}
ACCESS: dict[str, dict] = {}
REFRESH: dict[str, dict] = {}
COUNTS = {"refreshed": 0, "exchanged": 0, "asked": [], "called": 0, "seen": []}
LOCK = threading.Lock()


def tokens(scope: str) -> dict:
    access, refresh = "acc-" + secrets.token_hex(16), "ref-" + secrets.token_hex(16)
    if not SETTINGS["rejects"]:
        ACCESS[access] = {"until": time.time() + SETTINGS["life"], "scope": scope}
    REFRESH[refresh] = {"scope": scope}
    return {"access_token": access, "token_type": "Bearer", "expires_in": SETTINGS["life"], "refresh_token": refresh,
            "scope": scope}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def own(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def reply(self, status: int, document: object = None, **headers: str) -> None:
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self) -> None:
        self.reply(405)

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        own = self.own()
        if url.path == "/.well-known/oauth-protected-resource/mcp":
            self.reply(200, {"resource": own + "/mcp", "authorization_servers": [own], "scopes_supported": ["read"]})
        elif url.path == "/.well-known/oauth-authorization-server":
            self.reply(200, {
                "issuer": own, "authorization_endpoint": own + "/authorize", "token_endpoint": own + "/token",
                "registration_endpoint": own + "/register", "revocation_endpoint": own + "/revoke",
                "code_challenge_methods_supported": ["S256"], "authorization_response_iss_parameter_supported": True,
            })
        elif url.path == "/authorize":
            code = secrets.token_hex(16)
            with LOCK:
                CODES[code] = query
                COUNTS["asked"].append(query.get("scope", ""))
            back = {"code": code, "state": query["state"], "iss": SETTINGS["issuer"] or own}
            self.reply(302, None, Location=query["redirect_uri"] + "?" + urllib.parse.urlencode(back))
        elif url.path == "/control":
            self.reply(200, COUNTS)
        else:
            self.reply(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urllib.parse.urlsplit(self.path).path
        with LOCK:
            if path == "/control":
                wanted = json.loads(body)
                if wanted.pop("revoke", False):
                    ACCESS.clear()
                SETTINGS.update(wanted)
                self.reply(200, {})
            elif path == "/register":
                self.reply(201, {"client_id": "registered", "redirect_uris": json.loads(body)["redirect_uris"]})
            elif path == "/token":
                self.token(dict(urllib.parse.parse_qsl(body.decode())))
            elif path == "/revoke":
                self.reply(200)
            elif path == "/mcp":
                # Everything that the gateway sends, to be looked through.
                COUNTS["seen"] = [*COUNTS["seen"][-200:], str(self.headers) + body.decode()]
                self.mcp(json.loads(body))
            else:
                self.reply(404)

    def token(self, form: dict) -> None:
        if form["grant_type"] == "refresh_token":
            COUNTS["refreshed"] += 1
            if SETTINGS["refresh"] == "broken":
                self.reply(503)
            elif SETTINGS["refresh"] == "refused" or form["refresh_token"] not in REFRESH:
                self.reply(400, {"error": "invalid_grant"})
            else:
                # Each is good for once: a client that loses the next one is out.
                self.reply(200, tokens(REFRESH.pop(form["refresh_token"])["scope"]))
        elif SETTINGS["token"] == "broken":
            self.reply(503)
        else:
            COUNTS["exchanged"] += 1
            asked = CODES.pop(form.get("code", ""), None)
            if asked is None:
                self.reply(400, {"error": "invalid_grant"})
            else:
                self.reply(200, tokens(asked.get("scope", "")))

    def mcp(self, message: dict) -> None:
        about = f'resource_metadata="{self.own()}/.well-known/oauth-protected-resource/mcp"'
        token = ACCESS.get((self.headers.get("Authorization") or "").removeprefix("Bearer "))
        if token is None or token["until"] < time.time():
            self.reply(401, None, WWW_Authenticate=f"Bearer {about}")
            return
        method, identifier = message.get("method"), message.get("id")
        if identifier is None:
            self.reply(202)
            return
        result: dict | None = None
        if method == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                      "serverInfo": {"name": "remote", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": [{"name": "plain", "inputSchema": {"type": "object"}}]}
        elif method == "tools/call":
            missing = [scope for scope in SETTINGS["needs"] if scope not in token["scope"].split()]
            if missing:
                wanted = " ".join(missing)
                self.reply(403, None, WWW_Authenticate=f'Bearer error="insufficient_scope", scope="{wanted}", {about}')
                return
            COUNTS["called"] += 1
            result = {"content": [{"type": "text", "text": "remote"}]}
        elif method == "ping":
            result = {}
        if result is None:
            self.reply(200, {"jsonrpc": "2.0", "id": identifier, "error": {"code": -32601, "message": "Method not found"}})
        else:
            self.reply(200, {"jsonrpc": "2.0", "id": identifier, "result": result})


SERVER = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
# Whoever started it holds its input: when that ends, so does this.
threading.Thread(target=lambda: (sys.stdin.read(), SERVER.shutdown()), daemon=True).start()
print(SERVER.server_port, flush=True)
SERVER.serve_forever()
