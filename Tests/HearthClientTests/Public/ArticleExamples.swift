import HearthClient

// The examples of the articles, word for word, so that they compile. `ArticleTests` compares them. Nobody runs them.

private struct Room: Codable, Sendable {
    var title: String
    var seats: Int
}

private struct SignIn: Sendable {
    func token(forcingRefresh: Bool) async throws -> String? { nil }
}

private func overview() async throws {
    let database = try Database(url: "wss://db.example.com/?ns=shop")
    let order = database.reference(withPath: "orders/17")
    try await order.setValue(["total": 12, "at": ServerValue.timestamp()])
    for try await snapshot in order.values() {
        print(snapshot.value)
    }
}

private func observing(_ database: Database) async throws {
    for try await snapshot in database.reference(withPath: "rooms/lobby").values() {
        print(snapshot.childSnapshot(forPath: "title").value)
    }
    struct Room: Codable, Sendable {
        var title: String
        var seats: Int
    }
    for try await room in database.reference(withPath: "rooms/lobby").values(as: Room.self) {
        print(room?.title ?? "no such room")
    }
    for try await event in database.reference(withPath: "messages").childEvents() {
        switch event {
        case .added(let message, let previous): print("new", message.value, "behind", previous ?? "nothing")
        case .changed(let message, _): print("changed", message.value)
        case .moved: break
        case .removed(let message): print("gone", message.key ?? "")
        }
    }
    let handle = database.reference(withPath: "rooms").observe(.childAdded) { snapshot in
        print(snapshot.key ?? "", snapshot.value)
    } withCancel: { error in
        print("no longer:", error)
    }
    database.reference(withPath: "rooms").removeObserver(withHandle: handle)
    let snapshot = try await database.reference(withPath: "rooms/lobby").getData()
    let lobby = try snapshot.data(as: Room.self)
    _ = lobby
}

private func writing(_ database: Database) async throws {
    let room = database.reference(withPath: "rooms/lobby")
    try await room.setValue(["title": "Lobby", "open": true, "seats": 4])
    try await room.setValue(Room(title: "Lobby", seats: 4))
    try await room.updateChildValues(["title": "Hall", "meta/by": "ada", "old": nil])
    try await room.child("seats").removeValue()
    try await database.reference(withPath: "messages").childByAutoId().setValue(["text": "Hello"])
    try await room.updateChildValues(["changed": ServerValue.timestamp(), "visits": ServerValue.increment(1)])
    room.child("open").setValue(false) { error, _ in
        if let error { print("refused:", error) }
    }
}

private func querying(_ database: Database) {
    let messages = database.reference(withPath: "messages")
    let latest = messages.queryOrderedByKey().queryLimited(toLast: 50)
    let cheap = database.reference(withPath: "offers").queryOrdered(byChild: "price").queryEnding(atValue: 10)
    let named = database.reference(withPath: "people").queryOrdered(byChild: "name").queryEqual(toValue: "Ada")
    let next = messages.queryOrderedByKey().queryStarting(afterValue: "-OnAbc").queryLimited(toFirst: 20)
    _ = (latest, cheap, named, next)
}

private func transactions(_ database: Database) async throws {
    let likes = try await database.reference(withPath: "posts/7/likes").transaction(of: Int.self) { value in
        value = (value ?? 0) + 1
    }
    print(likes ?? 0)
    let stock = database.reference(withPath: "stock/apples")
    let (isCommitted, snapshot) = try await stock.runTransactionBlock { data in
        guard let count = data.value.int, count > 0 else { return .abort() }
        data.value = .int(Int64(count - 1))
        return .success(withValue: data)
    }
    print(isCommitted, snapshot.value)
}

private func persistence() throws {
    var options = DatabaseOptions()
    options.persistenceFile = "/var/lib/kiosk/shop.cache"
    let kiosk = try Database(url: "wss://db.example.com/?ns=shop", options: options)
    kiosk.goOffline()
}

private func connections(_ session: SignIn) async throws {
    var options = DatabaseOptions()
    options.certificateAuthorityFile = "/etc/hearth/ca.pem"
    options.tokenProvider = { forcingRefresh in try await session.token(forcingRefresh: forcingRefresh) }
    let database = try Database(url: "wss://db.example.com/?ns=shop", options: options)
    for try await snapshot in database.reference(withPath: ".info/connected").values() {
        print(snapshot.value.bool == true ? "connected" : "offline")
    }
    let online = database.reference(withPath: "people/ada/online")
    for try await snapshot in database.reference(withPath: ".info/connected").values() {
        guard snapshot.value.bool == true else { continue }
        try await online.onDisconnectSetValue(false)
        try await online.setValue(true)
    }
}
