import HearthClient

/// A message, as it is in the database.
struct Message: Codable {
    var from: String
    var text: String
}

/// A room to talk in: prints who comes, who goes and what they say, and sends the lines of the input.
///
///     hearth-chat NAME [ROOM [URL]]
@main
struct Chat {
    @MainActor
    static func main() async {
        let words = CommandLine.arguments
        guard (2...4).contains(words.count) else { return print("usage: hearth-chat NAME [ROOM [URL]]") }
        do {
            let url = words.count > 3 ? words[3] : "http://127.0.0.1:9000"
            let auth = try Auth(url: url)
            let user = try await auth.signInAnonymously().user
            let database = try Database(url: url, options: DatabaseOptions(auth: auth))
            let room = database.reference(withPath: "chat").child(words.count > 2 ? words[2] : "lobby")
            async let people: Void = showPeople(room.child("people"))
            async let messages: Void = showMessages(room.child("messages").queryLimited(toLast: 20))

            // The server removes the name when the connection ends, however that comes.
            let name = room.child("people").child(user.uid)
            try await name.onDisconnectRemoveValue()
            try await name.setValue(words[1])
            // This blocks the main thread and nothing else: events arrive on other threads.
            while let line = readLine() {
                if line.isEmpty { continue }
                try await room.child("messages").childByAutoId()
                    .setValue(["by": user.uid, "from": words[1], "text": line, "at": ServerValue.timestamp()])
            }
            await database.close()
            _ = try await (people, messages)
        } catch DatabaseError.disconnected {
            // The input has ended.
        } catch {
            print("hearth-chat: \(error)")
        }
    }

    static func showPeople(_ people: DatabaseReference) async throws {
        for try await event in people.childEvents() {
            switch event {
            case .added(let person, _): print("* \(person.value.string ?? "Somebody") is here")
            case .removed(let person): print("* \(person.value.string ?? "Somebody") has left")
            case .changed, .moved: break
            }
        }
    }

    static func showMessages(_ messages: DatabaseQuery) async throws {
        for try await event in messages.childEvents() {
            guard case .added(let child, _) = event else { continue }
            let message = try child.data(as: Message.self)
            print("\(message.from): \(message.text)")
        }
    }
}
