"""Functions as they are written for Firebase: nothing in here knows of Hearth."""

from firebase_admin import db, initialize_app
from firebase_functions import db_fn

initialize_app(options={"databaseURL": "https://example-default-rtdb.firebaseio.com"})


@db_fn.on_value_written(reference="rooms/{room}/messages/{message}")
def shout(event: db_fn.Event[db_fn.Change]) -> None:
    """Keeps a copy of each message in capitals."""
    after = event.data.after
    db.reference(f"shouted/{event.params['room']}/{event.params['message']}").set(
        {
            "text": after["text"].upper() if after else None,
            "was": event.data.before,
            "at": event.reference,
            "instance": event.instance,
            "type": event.type,
        }
        if after
        else {"gone": event.data.before}
    )


@db_fn.on_value_created(reference="rooms/{room}/messages/{message}")
def count(event: db_fn.Event) -> None:
    """Notes each new message once, however often the event comes."""
    db.reference(f"seen/{event.id}").set(event.data)


@db_fn.on_value_updated(reference="rooms/{room}/messages/{message}")
def changed(event: db_fn.Event[db_fn.Change]) -> None:
    """Notes what a message was, and what it is."""
    db.reference(f"changed/{event.params['message']}").push(
        {"before": event.data.before, "after": event.data.after, "type": event.type}
    )


@db_fn.on_value_deleted(reference="rooms/{room}/messages/{message}")
def gone(event: db_fn.Event) -> None:
    """Keeps what a message was when it was deleted."""
    db.reference(f"gone/{event.params['message']}").push({"was": event.data, "type": event.type})
