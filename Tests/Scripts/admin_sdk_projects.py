"""The official admin SDK for Python, as it is, for two projects of one server in development mode, and their apps, which name
no project.

usage: FIREBASE_AUTH_EMULATOR_HOST=HOST:PORT FIREBASE_DATABASE_EMULATOR_HOST=HOST:PORT python admin_sdk_projects.py
"""
import os

import firebase_admin
import requests
from firebase_admin import auth, db

from checks import check, equal, refused, run

server = "http://" + os.environ["FIREBASE_AUTH_EMULATOR_HOST"]
apps = {project: firebase_admin.initialize_app(
    None, {"projectId": project, "databaseURL": f"https://{project}-default-rtdb.firebaseio.com"}, name=project)
    for project in ["demo-first", "demo-second"]}


def client(operation, body):
    answer = requests.post(f"{server}/identitytoolkit.googleapis.com/v1/accounts:{operation}?key=fake-api-key", json=body)
    equal(answer.status_code, 200, answer.text)
    return answer.json()


for project, app in apps.items():

    @check(f"{project}: accounts, tokens and data of its own")
    def _(project=project, app=app):
        requests.delete(f"{server}/emulator/v1/projects/{project}/accounts")
        up = client("signUp", {"email": "ann@example.com", "password": "secret1"})
        equal(auth.verify_id_token(up["idToken"], app=app, check_revoked=True)["uid"], up["localId"])
        equal(auth.get_user_by_email("ann@example.com", app=app).uid, up["localId"])
        auth.create_user(uid="bob", email="bob@example.com", password="secret2", app=app)
        signed_in = client("signInWithPassword", {"email": "bob@example.com", "password": "secret2"})
        equal(auth.verify_id_token(signed_in["idToken"], app=app)["uid"], "bob")
        custom = client("signInWithCustomToken", {"token": auth.create_custom_token("ivo", app=app).decode()})
        equal(auth.verify_id_token(custom["idToken"], app=app)["uid"], "ivo")
        equal(len(list(auth.list_users(app=app).iterate_all())), 3)
        # The database takes the token, too.
        place = f"{server}/users/bob.json?ns={project}-default-rtdb&auth={signed_in['idToken']}"
        equal(requests.put(place, json=project).status_code, 200)
        equal(db.reference("users/bob", app=app).get(), project)


@check("the first project has what it had, and clients are of the project that was named last")
def _():
    first, second = apps.values()
    for app in [second, first]:
        equal(len(list(auth.list_users(app=app).iterate_all())), 3)
        token = client("signInWithPassword", {"email": "ann@example.com", "password": "secret1"})["idToken"]
        equal(auth.verify_id_token(token, app=app)["email"], "ann@example.com")
    refused(lambda: auth.verify_id_token(token, app=second), auth.InvalidIdTokenError)
    equal(db.reference("users/bob", app=first).get(), "demo-first")


run()
