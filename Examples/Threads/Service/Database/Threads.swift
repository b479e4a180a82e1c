import HearthClient

/// An author.
struct Creator: Hashable, Sendable {
    let id: String
    var firstName = ""
    var lastName = ""
}

/// What somebody has written.
protocol Written: Sendable {
    var creator: Creator { get set }
}

struct MessageThread: Written, Hashable {
    let id: String
    let title: String
    /// Milliseconds since 1970.
    let created: Int
    var creator: Creator
}

struct Message: Written, Hashable {
    /// Where a message is: a path names only a message, which lies below its thread. Keys have no periods.
    struct ID: Hashable, Sendable {
        let thread: String
        let key: String

        init(thread: String, key: String) { (self.thread, self.key) = (thread, key) }

        /// Nil if it is invalid.
        init?(_ text: String) {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, parts.allSatisfy(Key.isOne) else { return nil }
            self.init(thread: parts[0], key: parts[1])
        }

        var text: String { "\(thread).\(key)" }
    }

    let id: ID
    let text: String
    /// Milliseconds since 1970.
    let created: Int
    var creator: Creator
}

/// Names, threads and messages as they are in the database.
private enum Stored {
    struct Name: Codable {
        var fname: String?
        var lname: String?
    }

    struct Thread: Codable {
        var title: String
        var by: String
        var created = ServerValue.timestamp()
    }

    struct Message: Codable {
        var text: String
        var by: String
        var at = ServerValue.timestamp()
    }
}

extension MessageThread {
    /// Without the names of its creator.
    fileprivate init(_ child: DatabaseChild<Stored.Thread>) {
        self.init(id: child.id, title: child.title, created: child.created.int ?? 0, creator: Creator(id: child.by))
    }
}

extension Message {
    /// Without the names of its creator.
    fileprivate init(_ child: DatabaseChild<Stored.Message>, in thread: String) {
        self.init(
            id: ID(thread: thread, key: child.id), text: child.text, created: child.at.int ?? 0,
            creator: Creator(id: child.by))
    }
}

/// Threads and messages as one user sees and changes them.
extension UserDatabase {
    // MARK: Creators

    /// Says what this user is called.
    func introduce(firstName: String, lastName: String) async throws {
        try await database.reference(withPath: "users").child(uid)
            .setValue(Stored.Name(fname: firstName, lname: lastName))
    }

    /// Somebody by the name in the database; without names if they have none.
    func creator(_ id: String) async throws -> Creator {
        let name = try await database.reference(withPath: "users").child(id).getData().data(as: Stored.Name?.self)
        return Creator(id: id, firstName: name?.fname ?? "", lastName: name?.lname ?? "")
    }

    /// Fills in the names; each creator is asked for once, all at the same time.
    private func naming<Item: Written>(_ items: [Item]) async throws -> [Item] {
        let known = try await withThrowingTaskGroup(of: Creator.self) { group in
            for id in Set(items.map(\.creator.id)) { group.addTask { try await self.creator(id) } }
            return try await group.reduce(into: [:]) { $0[$1.id] = $1 }
        }
        return items.map { item in
            var item = item
            item.creator = known[item.creator.id] ?? item.creator
            return item
        }
    }

    // MARK: Threads

    /// All threads of all users, from the oldest to the newest.
    func threads() async throws -> [MessageThread] {
        let threads = database.reference(withPath: "threads").queryOrdered(byChild: "created")
        return try await naming(try await threads.getData().children(as: Stored.Thread.self).map(MessageThread.init))
    }

    private func thread(_ id: String) async throws -> MessageThread {
        guard Key.isOne(id) else { throw APIFailure.noSuchThread }
        let snapshot = try await database.reference(withPath: "threads").child(id).getData()
        guard let thread = try? snapshot.data(as: Stored.Thread.self) else { throw APIFailure.noSuchThread }
        return MessageThread(DatabaseChild(id: id, value: thread))
    }

    func addThread(title: String) async throws -> MessageThread {
        let place = database.reference(withPath: "threads").childByAutoId()
        try await place.setValue(Stored.Thread(title: title, by: uid))
        return try await naming([try await thread(place.key ?? "")])[0]
    }

    /// Deletes a thread and all that is in it.
    func deleteThread(_ id: String) async throws {
        _ = try await thread(id)
        do throws(DatabaseError) {
            try await database.reference().updateChildValues(["threads/\(id)": nil, "messages/\(id)": nil])
        } catch .permissionDenied {
            throw APIFailure(403, "Only its creator may delete a thread.")
        }
    }

    // MARK: Messages

    private func messagesPlace(_ thread: String) -> DatabaseReference {
        database.reference(withPath: "messages").child(thread)
    }

    /// A thread and its messages, from the oldest to the newest.
    func messages(of id: String) async throws -> (thread: MessageThread, messages: [Message]) {
        let thread = try await naming([try await thread(id)])[0]
        let messages = try await messagesPlace(id).queryOrdered(byChild: "at").getData()
        let list = try messages.children(as: Stored.Message.self).map { Message($0, in: id) }
        return (thread, try await naming(list))
    }

    func addMessage(_ text: String, to id: String) async throws -> Message {
        _ = try await thread(id)
        let place = messagesPlace(id).childByAutoId()
        try await place.setValue(Stored.Message(text: text, by: uid))
        guard let key = place.key, let stored = try await place.getData().data(as: Stored.Message?.self) else {
            throw APIFailure.noSuchMessage
        }
        return try await naming([Message(DatabaseChild(id: key, value: stored), in: id)])[0]
    }

    func deleteMessage(_ text: String) async throws {
        guard let id = Message.ID(text) else { throw APIFailure.noSuchMessage }
        let place = messagesPlace(id.thread).child(id.key)
        guard try await place.getData().exists() else { throw APIFailure.noSuchMessage }
        do throws(DatabaseError) { try await place.removeValue() } catch .permissionDenied {
            throw APIFailure(403, "Only its creator may delete a message.")
        }
    }
}
