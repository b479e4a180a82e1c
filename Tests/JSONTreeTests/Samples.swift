import HearthJSONTree

/// The canonical value of a JSON text.
func json(_ text: String) throws -> CanonicalJSON { try CanonicalJSON.parse(Array(text.utf8)).value }
