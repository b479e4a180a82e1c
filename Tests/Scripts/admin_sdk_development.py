"""The official admin SDK for Python, as it is, against a server in development mode, which takes the place of the
emulators.

usage: FIREBASE_AUTH_EMULATOR_HOST=HOST:PORT FIREBASE_DATABASE_EMULATOR_HOST=HOST:PORT python admin_sdk_development.py
"""
import datetime
import os
import time

import firebase_admin
import requests
from firebase_admin import auth, db, exceptions

from checks import check, equal, refused, run

server = "http://" + os.environ["FIREBASE_AUTH_EMULATOR_HOST"]
project = "hearth"
app = firebase_admin.initialize_app(
    None, {"projectId": project, "databaseURL": "https://default.firebaseio.com", "httpTimeout": 10})


def client(operation, body):
    """What an app asks for its user."""
    return requests.post(f"{server}/identitytoolkit.googleapis.com/v1/accounts:{operation}?key=app", json=body)


def sign_in(email, password="secret1"):
    answer = client("signInWithPassword", {"email": email, "password": password, "returnSecureToken": True})
    equal(answer.status_code, 200, answer.text)
    return answer.json()


@check("a user is created and found by uid, address and telephone number")
def _():
    user = auth.create_user(
        uid="ann", email="Ann@example.com", email_verified=True, password="secret1", display_name="Ann",
        photo_url="https://example.com/a.png", phone_number="+15555550100")
    equal((user.uid, user.email, user.email_verified, user.display_name), ("ann", "ann@example.com", True, "Ann"))
    equal((user.photo_url, user.phone_number, user.disabled), ("https://example.com/a.png", "+15555550100", False))
    equal(auth.get_user("ann").uid, "ann")
    equal(auth.get_user_by_email("ann@example.com").uid, "ann")
    equal(auth.get_user_by_phone_number("+15555550100").uid, "ann")
    created = user.user_metadata.creation_timestamp / 1000
    assert abs(created - time.time()) < 60, created


@check("what cannot be is refused with the SDK's errors")
def _():
    refused(lambda: auth.create_user(uid="ann"), auth.UidAlreadyExistsError)
    refused(lambda: auth.create_user(email="ann@example.com"), auth.EmailAlreadyExistsError)
    refused(lambda: auth.create_user(phone_number="+15555550100"), auth.PhoneNumberAlreadyExistsError)
    refused(lambda: auth.get_user("nobody"), auth.UserNotFoundError)
    refused(lambda: auth.get_user_by_email("nobody@example.com"), auth.UserNotFoundError)
    refused(lambda: auth.update_user("nobody", display_name="x"), auth.UserNotFoundError)
    refused(lambda: auth.delete_user("nobody"), auth.UserNotFoundError)


@check("users are listed page by page, and looked up together")
def _():
    for number in range(5):
        auth.create_user(uid=f"list{number}", email=f"list{number}@example.com")
    page = auth.list_users(max_results=2)
    equal([len(page.users), page.has_next_page], [2, True])
    uids = [user.uid for user in auth.list_users(max_results=2).iterate_all()]
    equal(sorted(uids), sorted(set(uids)))
    equal([uid for uid in uids if uid.startswith("list")], [f"list{number}" for number in range(5)])
    found = auth.get_users([auth.UidIdentifier("list0"), auth.EmailIdentifier("list1@example.com"),
                            auth.UidIdentifier("nobody")])
    equal(sorted(user.uid for user in found.users), ["list0", "list1"])
    equal([identifier.uid for identifier in found.not_found], ["nobody"])


@check("a user is changed, and what is deleted is gone")
def _():
    auth.update_user("ann", display_name="Ann B.", email="annb@example.com", email_verified=False, password="secret2")
    user = auth.get_user("ann")
    equal((user.display_name, user.email, user.email_verified), ("Ann B.", "annb@example.com", False))
    sign_in("annb@example.com", "secret2")
    auth.update_user("ann", display_name=auth.DELETE_ATTRIBUTE, photo_url=auth.DELETE_ATTRIBUTE,
                     phone_number=auth.DELETE_ATTRIBUTE)
    user = auth.get_user("ann")
    equal((user.display_name, user.photo_url, user.phone_number), (None, None, None))


@check("a disabled user cannot sign in")
def _():
    auth.create_user(uid="dora", email="dora@example.com", password="secret1")
    token = sign_in("dora@example.com")["idToken"]
    auth.update_user("dora", disabled=True)
    answer = client("signInWithPassword", {"email": "dora@example.com", "password": "secret1"})
    equal(answer.json()["error"]["message"], "USER_DISABLED")
    refused(lambda: auth.verify_id_token(token, check_revoked=True), auth.UserDisabledError)
    auth.update_user("dora", disabled=False)
    sign_in("dora@example.com")


@check("claims are in ID tokens")
def _():
    auth.set_custom_user_claims("ann", {"role": "editor", "level": 3})
    equal(auth.get_user("ann").custom_claims, {"role": "editor", "level": 3})
    claims = auth.verify_id_token(sign_in("annb@example.com", "secret2")["idToken"])
    equal((claims["uid"], claims["role"], claims["level"]), ("ann", "editor", 3))
    auth.set_custom_user_claims("ann", None)
    assert "role" not in auth.verify_id_token(sign_in("annb@example.com", "secret2")["idToken"])


@check("a custom token is exchanged and its claims are seen")
def _():
    custom = auth.create_custom_token("ivo", {"team": "red"}).decode()
    answer = client("signInWithCustomToken", {"token": custom, "returnSecureToken": True})
    equal(answer.status_code, 200, answer.text)
    claims = auth.verify_id_token(answer.json()["idToken"])
    equal((claims["uid"], claims["team"]), ("ivo", "red"))
    equal(auth.get_user("ivo").uid, "ivo")


@check("a revocation is seen")
def _():
    user = sign_in("annb@example.com", "secret2")
    auth.verify_id_token(user["idToken"], check_revoked=True)
    # Whether a token was issued before is told by whole seconds.
    time.sleep(1.1)
    auth.revoke_refresh_tokens("ann")
    refused(lambda: auth.verify_id_token(user["idToken"], check_revoked=True), auth.RevokedIdTokenError)
    answer = requests.post(f"{server}/securetoken.googleapis.com/v1/token?key=app",
                           data={"grant_type": "refresh_token", "refresh_token": user["refreshToken"]})
    equal(answer.json()["error"]["message"], "TOKEN_EXPIRED")
    auth.verify_id_token(sign_in("annb@example.com", "secret2")["idToken"], check_revoked=True)


@check("session cookies")
def _():
    token = sign_in("annb@example.com", "secret2")["idToken"]
    cookie = auth.create_session_cookie(token, datetime.timedelta(days=5))
    claims = auth.verify_session_cookie(cookie, check_revoked=True)
    equal(claims["uid"], "ann")
    assert abs(claims["exp"] - claims["iat"] - 5 * 86400) < 5, claims
    time.sleep(1.1)
    auth.revoke_refresh_tokens("ann")
    refused(lambda: auth.verify_session_cookie(cookie, check_revoked=True), auth.RevokedSessionCookieError)


@check("links that a backend sends itself")
def _():
    settings = auth.ActionCodeSettings(url="http://localhost/done")
    for link, mode in [
        (auth.generate_password_reset_link("annb@example.com", settings), "resetPassword"),
        (auth.generate_email_verification_link("annb@example.com", settings), "verifyEmail"),
        (auth.generate_sign_in_with_email_link("annb@example.com", settings), "signIn"),
    ]:
        assert f"mode={mode}" in link and "oobCode=" in link, link
    refused(lambda: auth.generate_password_reset_link("nobody@example.com"), auth.EmailNotFoundError)


@check("users are imported with their password hashes")
def _():
    import hashlib
    import hmac
    salted = hashlib.pbkdf2_hmac("sha256", b"secret1", b"salt", 1000)
    result = auth.import_users(
        [auth.ImportUserRecord(uid="imp1", email="imp1@example.com", password_hash=salted, password_salt=b"salt",
                               custom_claims={"from": "import"}),
         auth.ImportUserRecord(uid="imp2", email="imp2@example.com", provider_data=[
             auth.UserProvider("g2", provider_id="google.com", email="imp2@gmail.com")])],
        hash_alg=auth.UserImportHash.pbkdf2_sha256(rounds=1000))
    equal((result.success_count, result.failure_count), (2, 0), [error.reason for error in result.errors])
    equal(auth.verify_id_token(sign_in("imp1@example.com")["idToken"])["from"], "import")
    equal([provider.provider_id for provider in auth.get_user("imp2").provider_data], ["google.com"])
    keyed = hmac.new(b"key", b"secret1", hashlib.sha512).digest()
    auth.import_users([auth.ImportUserRecord(uid="imp3", email="imp3@example.com", password_hash=keyed)],
                      hash_alg=auth.UserImportHash.hmac_sha512(b"key"))
    sign_in("imp3@example.com")


@check("users are deleted, one and many")
def _():
    auth.delete_user("ivo")
    refused(lambda: auth.get_user("ivo"), auth.UserNotFoundError)
    result = auth.delete_users([f"list{number}" for number in range(5)] + ["nobody"])
    equal((result.success_count, result.failure_count), (6, 0))
    assert not [user.uid for user in auth.list_users().iterate_all() if user.uid.startswith("list")]


@check("OpenID providers are set up, read, listed, changed and removed")
def _():
    made = auth.create_oidc_provider_config(
        "oidc.sdk", "CLIENT", "https://oidc.com/issuer", display_name="Example", enabled=True, id_token_response_type=True)
    equal((made.provider_id, made.client_id, made.issuer, made.display_name, made.enabled),
          ("oidc.sdk", "CLIENT", "https://oidc.com/issuer", "Example", True))
    equal((made.id_token_response_type, made.code_response_type, made.client_secret), (True, False, None))
    equal(auth.get_oidc_provider_config("oidc.sdk").issuer, "https://oidc.com/issuer")
    equal([config.provider_id for config in auth.list_oidc_provider_configs().iterate_all()], ["oidc.sdk"])
    changed = auth.update_oidc_provider_config(
        "oidc.sdk", client_id="OTHER", issuer="https://oidc.com/other", display_name=auth.DELETE_ATTRIBUTE, enabled=False,
        client_secret="SECRET", id_token_response_type=False, code_response_type=True)
    equal((changed.client_id, changed.issuer, changed.display_name, changed.enabled),
          ("OTHER", "https://oidc.com/other", None, False))
    equal((changed.id_token_response_type, changed.code_response_type, changed.client_secret), (False, True, "SECRET"))
    auth.delete_oidc_provider_config("oidc.sdk")
    refused(lambda: auth.get_oidc_provider_config("oidc.sdk"), auth.ConfigurationNotFoundError)
    refused(lambda: auth.delete_oidc_provider_config("oidc.sdk"), auth.ConfigurationNotFoundError)


@check("SAML providers are none")
def _():
    equal(list(auth.list_saml_provider_configs().iterate_all()), [])
    refused(lambda: auth.get_saml_provider_config("saml.sdk"), auth.ConfigurationNotFoundError)


@check("hashes of passwords are listed, with their salts")
def _():
    listed = {user.uid: user for user in auth.list_users().iterate_all()}["imp3"]
    assert listed.password_hash and listed.password_salt, (listed.password_hash, listed.password_salt)


@check("the database, as the emulator's")
def _():
    place = db.reference("sdk")
    place.set({"a": 1})
    place.update({"b": 2})
    equal(place.transaction(lambda value: {**value, "c": 3}), {"a": 1, "b": 2, "c": 3})
    equal(list(place.order_by_key().limit_to_last(1).get()), ["c"])
    place.delete()
    equal(place.get(), None)
    refused(lambda: place.set({"a.b": 1}), exceptions.InvalidArgumentError)


run()
