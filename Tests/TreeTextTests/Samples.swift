import HearthJSONTree
import HearthTestSupport

/// The canonical value of a JSON text.
func json(_ text: String) throws -> CanonicalJSON { try CanonicalJSON.parse(Array(text.utf8)).value }

/// The path of a model's keys.
func path(_ keys: [TreeModel.Text]) throws -> Path {
    Path(try keys.map { try Key(validating: String(decoding: $0, as: UTF16.self)) })
}
