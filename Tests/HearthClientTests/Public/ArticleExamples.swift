import HearthServerSupport
import HearthClient

// The examples of the articles, word for word, so that they compile. `ArticleTests` compares them. They are not run.

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

private struct Message: Codable, Sendable {
    var text: String
}

private func observing(_ database: Database) async throws {
    for try await snapshot in database.reference(withPath: "rooms/lobby").values() {
        print(snapshot["title"].string ?? "no title")
    }
    struct Room: Codable, Sendable {
        var title: String
        var seats: Int
    }
    for try await room in database.reference(withPath: "rooms/lobby").values(as: Room.self) {
        print(room?.title ?? "no such room")
    }
    let newest = database.reference(withPath: "messages").queryOrderedByKey().queryLimited(toLast: 50)
    for try await messages in newest.children(as: Message.self) {
        for message in messages { print(message.id, message.value.text) }
        for child in messages.malformed { print("not a message:", child.error) }
    }
    for try await event in database.reference(withPath: "messages").childEvents() {
        switch event {
        case .added(let message, let previous): print("new", message.value, "after", previous ?? "nothing")
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
    let title = snapshot["title"].string ?? "no title"
    let seats = snapshot["meta/seats"].int
    let owners = try snapshot["owners"].children(as: Bool.self).map(\.id)
    _ = (lobby, title, seats, owners)
}

private struct Full: Error {}

private func seats(_ database: Database) async throws {
    let room = database.reference(withPath: "rooms/lobby")
    try await room.transaction(of: Room.self) { room in
        guard let seats = room?.seats, seats > 0 else { throw Full() }
        room?.seats = seats - 1
    }
    try await room.runTransactionBlock { data in
        data["meta/by"].value = "ada"
        data["visits"].value = ServerValue.increment(1)
        return .success(withValue: data)
    }
}

private func mixed(_ database: Database, _ title: String, _ seats: Int, _ message: Message) async throws {
    let room = database.reference(withPath: "rooms/lobby")
    try await room.setValue(["title": title, "seats": seats, "opened": ServerValue.timestamp()])
    let key = database.makeKey()
    try await database.reference().updateChildValues([
        "messages/\(key)": DatabaseValue(encoding: message), "people/ada/last": key,
    ])
}

private func repeated(_ database: Database) async throws {
    let visits = database.reference(withPath: "visits")
    let key = database.makeKey()
    let isEntered = try await visits.repeatingTransaction(isMade: { !$0[key].isNull }) { value in
        guard (value.object ?? [:]).count < 10 else { return false }
        value[key] = "ada"
        return true
    }
    print(isEntered)
}

@MainActor
private func observed(_ database: Database) {
    let notes = ObservedList(database.reference(withPath: "messages").queryLimited(toLast: 50), of: Message.self)
    for note in notes.children { print(note.id, note.value.text) }
}

private func writing(_ database: Database) async throws {
    let room = database.reference(withPath: "rooms/lobby")
    try await room.setValue(["title": "Lobby", "open": true, "seats": 4])
    try await room.setValue(Room(title: "Lobby", seats: 4))
    try await room.updateChildValues(["title": "Hall", "meta/by": "ada", "old": nil])
    try await room.child("seats").removeValue()
    try await database.reference(withPath: "messages").childByAutoId().setValue(["text": "Hello"])
    let key = database.makeKey()
    try await database.reference().updateChildValues([
        "messages/\(key)": ["text": "Hello"], "people/ada/messages/\(key)": true,
    ])
    try await room.updateChildValues(["changed": ServerValue.timestamp(), "visits": ServerValue.increment(1)])
    room.child("open").setValue(false) { error, _ in
        if let error { print("refused:", error) }
    }
}

private func querying(_ database: Database) async throws {
    let messages = database.reference(withPath: "messages")
    let latest = messages.queryOrderedByKey().queryLimited(toLast: 50)
    let cheap = database.reference(withPath: "offers").queryOrdered(byChild: "price").queryEnding(atValue: 10)
    let named = database.reference(withPath: "people").queryOrdered(byChild: "name").queryEqual(toValue: "Ada")
    let next = messages.queryOrderedByKey().queryStarting(afterValue: "-OnAbc").queryLimited(toFirst: 20)
    _ = (latest, cheap, named, next)
    let tasks = database.reference(withPath: "tasks")
    let urgent = tasks.where(.child("state").isEqual(to: "open"), .child("priority").isAtLeast(2))
        .queryOrdered(by: .child("priority").descending, .child("due")).queryLimited(toFirst: 20)
    let mine = tasks.where(.child("owner").isEqual(to: "ann") || .child("helpers").has("ann"))
    for try await snapshot in urgent.values() { print(snapshot.children.map(\.key)) }
    let pages = mine.queryLimited(toFirst: 100)
    var page = try await pages.getPage(fields: ["title", "due"])
    while let cursor = page.next {
        page = try await pages.queryStarting(afterCursor: cursor).getPage(fields: ["title", "due"])
    }
}

private func queryingAggregates(_ database: Database) async throws {
    let open = database.reference(withPath: "orders").where(.child("state").isEqual(to: "open"))
    let figures = try await open.getAggregates(.count, .sum, of: "total")
    for try await figures in open.aggregates(.count) { print(figures.count ?? 0) }
    print(figures)
}

private func explaining(_ urgent: DatabaseQuery) async throws {
    let explanation = try await urgent.explain()
    print(explanation.index ?? "no index", explanation.examined, explanation.needs ?? "")
}

private func transactions(_ database: Database) async throws {
    let likes = try await database.reference(withPath: "posts/7/likes").transaction(of: Int.self) { value in
        value = (value ?? 0) + 1
    }
    print(likes.value ?? 0)
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

private func connections(_ session: SignIn, _ auth: Auth) async throws {
    var options = DatabaseOptions()
    options.certificateAuthorityFile = "/etc/hearth/ca.pem"
    options.auth = auth
    let database = try Database(url: "wss://db.example.com/?ns=shop", options: options)
    options.tokenProvider = { forcingRefresh in try await session.token(forcingRefresh: forcingRefresh) }
    for await state in database.connectionStates {
        switch state {
        case .connected: print("connected")
        case .waiting(let error, _): print("offline:", error)
        case .connecting, .offline, .refused: print("offline")
        }
    }
    let online = database.reference(withPath: "people/ada/online")
    for try await snapshot in database.reference(withPath: ".info/connected").values() {
        guard snapshot.bool == true else { continue }
        try await online.onDisconnectSetValue(false)
        try await online.setValue(true)
    }
}

private func logging(_ auth: Auth) {
    var options = DatabaseOptions(auth: auth, requestTimeout: .seconds(20))
    options.logger = { entry in
        if entry.level >= .warning { print(entry.message) }
    }
    _ = options
}

private func ending(_ database: Database) async {
    do {
        try await database.waitForPendingWrites(timeout: .seconds(10))
    } catch {
        print("\(database.pendingWriteCount) writes were not answered:", error)
    }
    await database.close()
}

private func refusals(_ database: Database) async {
    for await refusal in database.refusedWrites {
        print("refused:", refusal.references.map(\.path), refusal.error)
    }
}

private func signingIn(_ password: String) async throws {
    let auth = try Auth(url: "https://db.example.com")
    do {
        try await auth.createUser(withEmail: "ann@example.com", password: password)
    } catch {
        guard error.code == .emailAlreadyInUse else { throw error }
        try await auth.signIn(withEmail: "ann@example.com", password: password)
    }
}

private func following(_ auth: Auth) async throws {
    var options = DatabaseOptions()
    options.auth = auth
    let database = try Database(url: "wss://db.example.com", options: options)
    if let user = auth.currentUser {
        try await database.reference(withPath: "users/\(user.uid)/name").setValue("Ann")
    }
    for await user in auth.stateChanges {
        if let user { print("hello", user.displayName ?? user.uid) } else { print("nobody is signed in") }
    }
    for await user in auth.userChanges {
        print(user?.displayName ?? "nobody", user?.photoURL ?? "")
    }
}

private func session() throws {
    var options = AuthOptions()
    options.sessionFile = "/home/ann/.local/state/shop/session"
    let auth = try Auth(url: "https://db.example.com", options: options)
    print(auth.currentUser?.email ?? "nobody")
}

private func otherWays(_ auth: Auth, _ token: String, _ idToken: String, _ nonce: String) async throws {
    try await auth.signInAnonymously()
    try await auth.signIn(withCustomToken: token)
    try await auth.signIn(with: GoogleAuthProvider.credential(withIDToken: idToken))
    let campus = OAuthProvider.credential(withProviderID: "oidc.campus", idToken: idToken, rawNonce: nonce)
    try await auth.signIn(with: campus)
}

private func account(_ auth: Auth, _ user: User, _ password: String, _ newPassword: String) async throws {
    let credential = EmailAuthProvider.credential(withEmail: "ann@example.com", password: password)
    try await auth.currentUser?.link(with: credential)
    let change = user.createProfileChangeRequest()
    change.displayName = "Ann"
    try await change.commitChanges()
    try await user.sendEmailVerification()
    do {
        try await user.updatePassword(to: newPassword)
    } catch {
        guard error.code == .requiresRecentLogin else { throw error }
        try await user.reauthenticate(with: credential)
        try await user.updatePassword(to: newPassword)
    }
}

private func codes(_ auth: Auth, _ link: String, _ newPassword: String) async throws {
    if let action = ActionCodeURL(link) {
        let email = try await auth.verifyPasswordResetCode(action.code)
        print("a new password for", email)
        try await auth.confirmPasswordReset(withCode: action.code, newPassword: newPassword)
    }
}

private func first(_ database: Database) async throws {
    struct Room: Codable, Sendable {
        var title: String
        var seats: Int
    }
    let kitchen = database.reference(withPath: "rooms/kitchen")
    try await kitchen.setValue(Room(title: "Kitchen", seats: 4))
    let room = try await kitchen.getData().data(as: Room.self)
    print(room.seats)
}

private func firstUser(_ password: String) async throws {
    let auth = try Auth(url: "http://127.0.0.1:9000")
    try await auth.createUser(withEmail: "ann@example.com", password: password)
    let database = try Database(url: "http://127.0.0.1:9000", options: DatabaseOptions(auth: auth))
    try await database.waitForPendingWrites(timeout: .seconds(10))
    await database.close()
}

private func types(_ reference: DatabaseReference, _ root: DatabaseReference) async throws {
    struct Room: Codable, Sendable {
        var title: String
        var seats: Int
        var tags: [String] = []
        var closes: String?
    }
    try await reference.setValue(Room(title: "Lobby", seats: 4))
    let once = try await reference.getData().data(as: Room.self)
    for try await room in reference.values(as: Room.self) {
        print(room?.title ?? "no such room")
    }
    try await root.updateChildValues([
        "rooms/lobby": DatabaseValue(encoding: once), "index/lobby": once.title,
    ])
}

private func times(_ notes: DatabaseReference, _ url: String) async throws {
    struct Note: Codable, Sendable {
        var text: String
        var at: DatabaseValue = ServerValue.timestamp()
    }
    try await notes.childByAutoId().setValue(Note(text: "Milk"))
    let written = try await notes.getData().children(as: Note.self).map { $0.value.at.int }
    print(written)
    for try await list in notes.children(as: Note.self) {
        for note in list { print(note.id, note.value.text) }
        for child in list.malformed { print("skipped \(child.id): \(child.error)") }
    }
    let coding = DatabaseCodingOptions(dateStrategy: .secondsSince1970, dataStrategy: .deferredToData)
    let database = try Database(url: url, options: DatabaseOptions(coding: coding))
    _ = database
}

@MainActor
final class Board {
    private(set) var titles: [String] = []
    private var task: Task<Void, Never>?

    func follow(_ rooms: DatabaseReference) {
        task = Task {
            do {
                for try await snapshot in rooms.values() {
                    titles = snapshot.children.map { $0["title"].string ?? "" }
                }
            } catch {
                titles = ["\(error)"]
            }
        }
    }

    func stop() { task?.cancel() }
}

private func tasks(_ reference: DatabaseReference) async throws {
    Task {
        do {
            try await reference.setValue(true)
        } catch DatabaseError.permissionDenied(let reason) {
            print("not allowed:", reason)
        } catch let error as DatabaseError {
            print("not written:", error)
        }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
            for try await snapshot in reference.child("title").values() { print("title:", snapshot.value) }
        }
        group.addTask {
            for try await snapshot in reference.child("seats").values() { print("seats:", snapshot.value) }
        }
        try await group.waitForAll()
    }
}

private func bounded(_ url: String) async throws {
    let database = try Database(url: url, options: DatabaseOptions(requestTimeout: .seconds(20)))
    do {
        try await database.reference(withPath: "orders/17").setValue(["total": 12])
    } catch {
        switch error {
        case .timedOut, .connectionFailed: print("kept here, and sent as soon as possible:", error)
        case .permissionDenied, .refused: print("not written:", error)
        default: print(error)
        }
    }
    for await refusal in database.refusedWrites {
        print(refusal.references.map(\.path), refusal.error)
    }
}

private func post(_ message: Message, to list: DatabaseReference) async throws(DatabaseError) {
    while true {
        do throws(DatabaseError) {
            return try await list.childByAutoId().setValue(message)
        } catch .rateExceeded(let retryAfter?, _) {
            do { try await Task.sleep(for: retryAfter) } catch { throw .cancelled }
        }
    }
}
