"""A server that repeats requests as JSON, asks for passwords, redirects, and plays a small shop and an API."""

import hashlib
import json
import re
import urllib.parse

from .server import response

SECRETS = {"my-secret-key": "my-value", "api-key": "key-12345", "database-pass": "db-789"}
TITLE = "a page for load tests"


def as_json(value, status="200 OK", *headers):
    return response(json.dumps(value).encode(), status, ("Content-Type: application/json", *headers))


def page(title, more="", place=""):
    """An HTML page with a form, as a shop has it."""
    inputs = "".join(f'<input type="hidden" name="{name}" value="{name}-7"/>'
                     for name in ("form_build_id", "form_id", "form_token", "__VIEWSTATE", "__EVENTVALIDATION"))
    text = f'<html><head><title>{title}</title></head><body><h1>{title}</h1><p class="description">{TITLE}</p>' \
           f'<form action="{place}">{inputs}</form>{more}</body></html>'
    return response(text.encode(), "200 OK", ("Content-Type: text/html; charset=utf-8",))


def to(place):
    return response(b"", "302 Found", (f"Location: {place}",))


def flat(values):
    return {name: several[0] if len(several) == 1 else several for name, several in values.items()}


def echo(request):
    body = request.body.decode()
    kind = request.header("content-type") or ""
    return as_json({
        "method": request.method, "url": request.target, "data": body,
        "args": flat(urllib.parse.parse_qs(request.target.partition("?")[2])),
        "headers": {name.title(): value for name, value in request.headers},
        "form": flat(urllib.parse.parse_qs(body)) if "urlencoded" in kind else {},
        "json": json.loads(body) if "json" in kind and body else None})


def digest(request):
    """RFC 7616 with MD5, for the user `user` with the password `passwd`."""
    given = request.header("authorization") or ""
    if not given.startswith("Digest "):
        challenge = 'WWW-Authenticate: Digest realm="r", nonce="n0", qop="auth", algorithm=MD5'
        return response(b"", "401 Unauthorized", (challenge,))
    parts = {name: text or bare for name, text, bare in re.findall(r'(\w+)=(?:"([^"]*)"|([^",\s]+))', given)}
    def md5(text):
        return hashlib.md5(text.encode()).hexdigest()
    want = md5(":".join((md5("user:r:passwd"), "n0", parts["nc"], parts["cnonce"], "auth",
                         md5(f"{request.method}:{request.target}"))))
    good = parts["username"] == "user" and parts["response"] == want
    return as_json({"authenticated": good, "user": "user"}, "200 OK" if good else "401 Unauthorized")


def basic(request):
    good = request.header("authorization") == "Basic dXNlcjpwYXNzd2Q="
    return as_json({"authenticated": good, "user": "user"}, "200 OK" if good else "401 Unauthorized")


def shop(request, path):
    form = flat(urllib.parse.parse_qs(request.body.decode()))
    if path.startswith("/static/"):
        fresh = request.header("if-modified-since") is None
        return response(b"x" if fresh else b"", "200 OK" if fresh else "304 Not Modified")
    if request.method == "POST":
        if form.get("form_build_id") != "form_build_id-7":
            return page("Refused")
        places = {"/user/login": f"/shop/users/{form.get('name')}", "/cart": "/shop/checkout/7",
                  "/checkout/7": "/shop/checkout/7/shipping", "/checkout/7/shipping": "/shop/checkout/7/review",
                  "/checkout/7/review": "/shop/checkout/7/payment"}
        return to(places[path]) if path in places else page("Bag", "<p>Item successfully added to your cart</p>")
    if path == "/checkout/7/payment":
        return to("/shop/checkout/7/complete")
    titles = {"/": "Welcome", "/user/login": "User account", "/collection/carry": "To carry", "/cart": "Shopping cart",
              "/checkout/7/complete": "Checkout complete"}
    return page(titles.get(path, "Bag"), '<a href="/user/login">Log in</a>' if path == "/user/logout" else "", path)


def api(request, path):
    if path == "/v3/account/login":
        return as_json({"token": {"key": "k7"}})
    if request.header("authorization") != "Token k7":
        return as_json({"message": "who are you?"}, "401 Unauthorized")
    name = {"/v3/account/me": "organizations", "/v3/tokens": "tokens", "/v3/load-zones": "load_zones",
            "/v3/server-agents": "server_agents"}[path]
    return as_json({name: []})


def answer(request, _connection=None):
    path = request.path
    first, _, rest = path[1:].partition("/")
    if first == "status":
        return response(b"2", f"{rest} Status")
    if first == "redirect":
        return to("/get" if rest == "1" else f"/redirect/{int(rest) - 1}")
    if first == "cookies":
        return as_json({"cookies": dict(one.split("=") for one in (request.header("cookie") or "").split("; ") if one)})
    if first == "basic-auth":
        return basic(request)
    if first == "digest-auth":
        return digest(request)
    if first == "shop":
        return shop(request, "/" + rest)
    if first == "api":
        return api(request, "/" + rest)
    if first == "secrets":
        known = request.header("authorization") == "Bearer t7"
        return as_json({"plaintext": SECRETS[rest.split("/")[0]]}) if known else as_json({}, "401 Unauthorized")
    if first == "graphql":
        return as_json({"data": {"repository": {"issues": {"edges": [{"node": {"id": "I7", "number": 7}}]}}}})
    if first == "pi":
        return response(b"3.14")
    return page("Welcome") if path == "/" else echo(request)
