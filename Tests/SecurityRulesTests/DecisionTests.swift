import JSONTree
import Testing

@testable import SecurityRules

@Suite("Which rules decide")
struct DecisionTests {
    static let rooms = """
        {
          "members": {"$room": {".read": "data.child(auth.uid).exists()"}},
          "rooms": {"$room": {
            ".read": "root.child('members').child($room).child(auth.uid).exists()",
            ".write": "root.child('members').child($room).child(auth.uid).exists()",
            "messages": {"$id": {".validate": "newData.hasChildren(['text', 'by']) && newData.child('by').val() == auth.uid",
              "text": {".validate": "newData.isString() && newData.val().length < 10"},
              "by": {".validate": true},
              "$other": {".validate": false}}}
          }}
        }
        """

    @Test(
        "a chat room",
        arguments: [
            ("ann", "/rooms/r/messages/1", #"{"text":"hi","by":"ann"}"#, true),
            ("ann", "/rooms/r/messages/1", #"{"text":"hi","by":"bob"}"#, false),
            ("ann", "/rooms/r/messages/1", #"{"text":"much too long","by":"ann"}"#, false),
            ("ann", "/rooms/r/messages/1", #"{"text":"hi","by":"ann","x":1}"#, false),
            ("ann", "/rooms/r/messages/0", "null", true),
            ("ann", "/rooms/r/messages/0/text", "null", false),
            ("ann", "/rooms/r/messages/0/text", #""new""#, true),
            ("ann", "/rooms/r", "null", true),
            ("ann", "/rooms/q/messages/1", #"{"text":"hi","by":"ann"}"#, false),
            ("bob", "/rooms/r/messages/1", #"{"text":"hi","by":"bob"}"#, false),
            ("", "/rooms/r/messages/1", #"{"text":"hi","by":""}"#, false),
        ])
    func chatRoom(uid: String, at place: String, value: String, isAllowed: Bool) throws {
        let scene = Scene(
            data: #"{"members":{"r":{"ann":true}},"rooms":{"r":{"messages":{"0":{"by":"ann","text":"a"}}}}}"#,
            auth: uid.isEmpty ? nil : "{\"uid\":\"\(uid)\"}")
        #expect(try scene.decide(.write([assignment(place, value)]), Self.rooms) == isAllowed)
    }
}
