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
