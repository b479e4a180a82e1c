"""The official admin SDK for Python, as it is, against a server in production mode over TLS.

usage: REQUESTS_CA_BUNDLE=CERTIFICATE python admin_sdk_production.py KEY PUBLIC-URL ADMIN-URL

KEY is a file of `hearth admin create-key`. The rules let users into /own/UID, and are to have no index but for /rows.
"""
import json
import queue
import sys
import threading
import time

import firebase_admin
import google.auth.transport.requests
import google.oauth2.id_token
import requests
from firebase_admin import auth, credentials, db, exceptions

from checks import check, equal, refused, run

key_file, public_url, admin_url = sys.argv[1:]
project = json.load(open(key_file))["project_id"]
options = {"databaseURL": public_url, "httpTimeout": 10}
app = firebase_admin.initialize_app(credentials.Certificate(key_file), options)
accounts = f"{public_url}/identitytoolkit.googleapis.com/v1/accounts"


def sign_in(uid, claims=None):
    """Exchanges a custom token, which the SDK makes, for the tokens of a user."""
    custom = auth.create_custom_token(uid, claims).decode()
    answer = requests.post(f"{accounts}:signInWithCustomToken?key=app", json={"token": custom, "returnSecureToken": True})
    equal(answer.status_code, 200, answer.text)
    return answer.json()


def refresh(token):
    return requests.post(
        f"{public_url}/securetoken.googleapis.com/v1/token?key=app",
        data={"grant_type": "refresh_token", "refresh_token": token})


def administer(operation, body):
    """A request to an administrators' endpoint, with the access token that the SDK has got for the key."""
    token = app.credential.get_access_token().access_token
    return requests.post(
        f"{admin_url}/identitytoolkit.googleapis.com/v1/projects/{project}/{operation}", json=body,
        headers={"Authorization": f"Bearer {token}"})


@check("set and get of every type")
def _():
    for value in ["", "é漢字😀\n", 0, -5, 1.5, True, False, 2**53 + 1, {"a": 1, "b": {"c": [1, 2, 3]}}, [1, 2]]:
        db.reference("value").set(value)
        equal(db.reference("value").get(), value)
    equal(db.reference("none").get(), None)


@check("update of deep paths, push, delete")
def _():
    place = db.reference("u")
    place.set({"a": 1, "b": {"c": 2, "d": 3}})
    place.update({"a": 2, "b/c": 9, "new/deep": True})
    equal(place.get(), {"a": 2, "b": {"c": 9, "d": 3}, "new": {"deep": True}})
    keys = [place.child("list").push(n).key for n in range(5)]
    equal(keys, sorted(keys))
    equal(list(place.child("list").get().values()), [0, 1, 2, 3, 4])
    place.delete()
    equal(place.get(), None)


@check("transactions of four threads count to 20")
def _():
    def count():
        for _ in range(5):
            while True:
                try:
                    db.reference("count").transaction(lambda value: (value or 0) + 1)
                    break
                except db.TransactionAbortedError:
                    pass
    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(db.reference("count").get(), 20)


@check("writes that depend on an etag")
def _():
    place = db.reference("etag")
    _, etag = place.get(etag=True)
    equal(place.set_if_unchanged(etag, 1)[0], True)
    equal(place.set_if_unchanged(etag, 2)[0], False)
    equal(place.get(), 1)


@check("queries by child, key and value")
def _():
    rows = db.reference("rows")
    rows.set({"r1": {"n": 10}, "r2": {"n": 20}, "r3": {"n": 30}, "r4": {"n": 40}})
    equal(list(rows.order_by_child("n").limit_to_first(2).get()), ["r1", "r2"])
    equal(list(rows.order_by_child("n").start_at(20).end_at(30).get()), ["r2", "r3"])
    equal(list(rows.order_by_key().limit_to_last(1).get()), ["r4"])
    db.reference("values").set({"a": 3, "b": "x", "c": True, "d": 1})
    equal(list(db.reference("values").order_by_value().get()), ["c", "d", "a", "b"])


@check("a listener is told of what is there and what changes")
def _():
    place = db.reference("heard")
    place.set({"a": 1})
    events = queue.Queue()
    registration = place.listen(lambda event: events.put((event.event_type, event.path, event.data)))
    equal(events.get(timeout=600), ("put", "/", {"a": 1}))
    place.child("b/c").set(2)
    equal(events.get(timeout=600), ("put", "/b/c", 2))
    place.update({"x": 1, "a": 3})
    equal(events.get(timeout=600), ("patch", "/", {"x": 1, "a": 3}))
    # Closing waits for the next event.
    threading.Thread(target=registration.close, daemon=True).start()
    place.delete()


@check("an app that acts as a user is bound by the rules")
def _():
    ann = firebase_admin.initialize_app(
        app.credential, {**options, "databaseAuthVariableOverride": {"uid": "ann"}}, "ann")
    nobody = firebase_admin.initialize_app(app.credential, {**options, "databaseAuthVariableOverride": None}, "nobody")
    db.reference("own/ann", ann).set(1)
    equal(db.reference("own/ann", ann).get(), 1)
    for call in [
        lambda: db.reference("own/bob", ann).set(1), lambda: db.reference("own/ann", nobody).get(),
        lambda: db.reference("/", ann).get(),
    ]:
        refused(call, exceptions.UnauthenticatedError, exceptions.PermissionDeniedError)


@check("a custom token is exchanged, and the ID token used on the database")
def _():
    token = sign_in("ann", {"team": "red"})["idToken"]
    own = requests.put(f"{public_url}/own/ann.json?auth={token}", data="7")
    equal((own.status_code, own.text), (200, "7"))
    equal(requests.get(f"{public_url}/own/bob.json?auth={token}").status_code, 401)
    equal(requests.get(f"{public_url}/own/ann.json").status_code, 401)


@check("an ID token is verified with the certificates that the server publishes")
def _():
    token = sign_in("ann", {"team": "red"})["idToken"]
    certificates = f"{public_url}/www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"

    def verify(token, audience=project):
        # What auth.verify_id_token does, which always asks Google for certificates.
        return google.oauth2.id_token.verify_token(
            token, google.auth.transport.requests.Request(), audience=audience, certs_url=certificates)
    claims = verify(token)
    equal((claims["sub"], claims["team"], claims["iss"]), ("ann", "red", f"https://securetoken.google.com/{project}"))
    head, payload, signature = token.split(".")
    wrong = signature[:-8] + ("A" * 8 if not signature.endswith("A" * 8) else "B" * 8)
    refused(lambda: verify(f"{head}.{payload}.{wrong}"), ValueError)
    refused(lambda: verify(token, "another-project"), ValueError)


@check("a custom token that another key has signed is refused")
def _():
    custom = auth.create_custom_token("ann").decode()
    forged = custom[:-8] + ("A" * 8 if not custom.endswith("A" * 8) else "B" * 8)
    answer = requests.post(f"{accounts}:signInWithCustomToken?key=app", json={"token": forged})
    equal(answer.status_code, 400)
    assert answer.json()["error"]["message"].startswith("INVALID_CUSTOM_TOKEN"), answer.text


@check("a revocation ends refresh tokens and ID tokens")
def _():
    user = sign_in("carl")
    equal(requests.put(f"{public_url}/own/carl.json?auth={user['idToken']}", data="1").status_code, 200)
    fresh = refresh(user["refreshToken"])
    equal(fresh.status_code, 200, fresh.text)
    answer = administer("accounts:update", {"localId": "carl", "validSince": str(int(time.time()))})
    equal(answer.status_code, 200, answer.text)
    answer = refresh(user["refreshToken"])
    equal((answer.status_code, answer.json()["error"]["message"]), (400, "TOKEN_EXPIRED"))
    equal(requests.get(f"{public_url}/own/carl.json?auth={user['idToken']}").status_code, 401)


@check("administrators' endpoints are unknown on the public listener, and need the token on the other")
def _():
    token = app.credential.get_access_token().access_token
    place = f"/identitytoolkit.googleapis.com/v1/projects/{project}/accounts:query"
    headers = {"Authorization": f"Bearer {token}"}
    equal(requests.post(public_url + place, json={}, headers=headers).status_code, 404)
    equal(requests.post(admin_url + place, json={}).status_code, 401)
    equal(requests.post(admin_url + place, json={}, headers=headers).status_code, 200)
    equal(requests.post(admin_url + place, json={}, headers={"Authorization": "Bearer owner"}).status_code, 401)


run()
