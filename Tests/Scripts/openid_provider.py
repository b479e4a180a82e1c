"""An OpenID provider of the package oidc-provider-mock, and a browser that signs a user in there.

Prints the provider's URL. Then each line of input `SUBJECT CLIENT NONCE` is answered with the ID token that the client gets for
this user (authorization code flow); NONCE may be `-` for none.
"""
import json
import sys
import urllib.parse

import requests
from oidc_provider_mock import User, run_server_in_thread

redirect = "http://localhost/callback"
users = [User(sub="ann", claims={"email": "ann@example.com", "email_verified": True, "name": "Ann"}),
         User(sub="bob", claims={"email": "bob@example.com", "email_verified": True, "name": "Bob"})]


def sign_in(issuer, subject, client, nonce):
    configuration = requests.get(f"{issuer}/.well-known/openid-configuration").json()
    query = {"response_type": "code", "client_id": client, "redirect_uri": redirect, "scope": "openid email profile",
             "state": "s"}
    if nonce != "-":
        query["nonce"] = nonce
    page = requests.post(configuration["authorization_endpoint"], params=query, data={"sub": subject},
                         allow_redirects=False)
    answer = urllib.parse.parse_qs(urllib.parse.urlsplit(page.headers["location"]).query)
    token = requests.post(configuration["token_endpoint"], auth=(client, "secret"), data={
        "grant_type": "authorization_code", "code": answer["code"][0], "redirect_uri": redirect})
    return token.json()["id_token"]


with run_server_in_thread(user_claims=users) as server:
    port = server.server_port
    issuer = requests.get(f"http://127.0.0.1:{port}/.well-known/openid-configuration").json()["issuer"]
    print(issuer, flush=True)
    for line in sys.stdin:
        print(sign_in(issuer, *line.split()), flush=True)
