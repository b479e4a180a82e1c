import HearthExampleKit
import HearthJSONValues

/// An author.
struct Creator: Hashable {
    let id: String
    /// First and last one.
    let name: String

    init(_ object: JSONObject) throws(Problem) {
        id = try object.need("user_id")
        let names = [object["user_fname"]?.text, object["user_lname"]?.text].compactMap { $0 }.filter { !$0.isEmpty }
        name = names.isEmpty ? "somebody" : names.joined(separator: " ")
    }
}

/// A thread in the list of all.
struct ThreadItem: Identifiable, Hashable {
    let id: String
    let title: String
    let created: Moment
    let creator: Creator

    init(_ object: JSONObject) throws(Problem) {
        id = try object.need("id")
        title = try object.need("title")
        created = Moment(milliseconds: Int(object["created_at"]?.integer ?? 0))
        creator = try Creator(object)
    }
}

/// A message in a thread.
struct MessageItem: Identifiable, Hashable {
    let id: String
    let text: String
    let created: Moment
    let creator: Creator

    init(_ object: JSONObject) throws(Problem) {
        id = try object.need("id")
        text = try object.need("message")
        created = Moment(milliseconds: Int(object["created_at"]?.integer ?? 0))
        creator = try Creator(object)
    }
}
