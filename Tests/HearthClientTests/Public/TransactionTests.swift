import HearthServerSupport
import HearthClient
import HearthServer
import Synchronization
import Testing

@Suite("Transactions", .timeLimit(.minutes(15)))
struct TransactionTests {
    private let server: TestDatabase

    init() throws { server = try TestDatabase() }

    @Test("many clients count together, and none is lost")
    func counting() async throws {
        let clients = try (0..<4).map { _ in try server.client() }
        try await withThrowingTaskGroup { group in
            for client in clients {
                let counter = client.reference(withPath: "counter")
                for _ in 0..<10 {
                    group.addTask {
                        // Somebody may be unlucky 25 times.
                        while true {
                            do {
                                try await counter.transaction(of: Int.self) { $0 = ($0 ?? 0) + 1 }
                                return
                            } catch DatabaseError.tooManyRetries {}
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await clients[0].reference(withPath: "counter").getData().value == 40)
    }

    @Test("the block sees what is there, and the observer the guess")
    func guess() async throws {
        let database = try server.client()
        let place = database.reference(withPath: "stock")
        try await place.setValue(["apples": 3], andPriority: 1)
        let log = EventLog()
        log.observe(place, "", [.value])
        #expect(await log.next() == #"value: {"apples":3}"#)
        let (isCommitted, snapshot) = try await place.runTransactionBlock { data in
            data.value["apples"] = .int(Int64(data.value["apples"].int ?? 0) - 1)
            return .success(withValue: data)
        }
        #expect(isCommitted)
        #expect(snapshot.value == ["apples": 2])
        #expect(snapshot.priority == 1)
        #expect(await log.next() == #"value: {"apples":2}"#)
    }

    @Test("a block that wants nothing changes nothing")
    func abort() async throws {
        let place = try server.client().reference(withPath: "x")
        try await place.setValue(1)
        let (isCommitted, snapshot) = try await place.runTransactionBlock { _ in .abort() }
        #expect(!isCommitted)
        #expect(snapshot.value == 1)
        struct Refused: Error {}
        await #expect(throws: DatabaseError.invalidValue("no")) {
            try await place.transaction(of: Int.self) { _ in throw DatabaseError.invalidValue("no") }
        }
        // Errors of the caller end a transaction, too, and come out as they are.
        await #expect(throws: Refused.self) {
            try await place.transaction(of: Int.self) { value in
                value = 2
                throw Refused()
            }
        }
        let outcome = try await place.transaction(of: Int.self) { value in if value == 7 { value = 8 } }
        #expect(outcome == TransactionOutcome(isCommitted: false, value: 1))
        #expect(try await place.getData().value == 1)
    }

    @Test("a later write to the place ends one that was not sent")
    func overriding() async throws {
        let database = try server.client()
        let place = database.reference(withPath: "x")
        let log = EventLog()
        log.observe(place, "", [.value])
        #expect(await log.next() == "value: null")
        database.goOffline()
        place.runTransactionBlock { data in
            data.value = 1
            return .success(withValue: data)
        } andCompletionBlock: { error, isCommitted, _ in
            log.add("done \(error.map(\.description) ?? "-") \(isCommitted)")
        }
        #expect(await log.next() == "value: 1")
        place.setValue(2, withCompletionBlock: nil)
        #expect(await log.next(3) == ["value: null", "done a later write replaced it false", "value: 2"])
        database.goOnline()
        #expect(try await place.getData().value == 2)
    }

    @Test("one begun without a connection is made on what the server has by then")
    func stale() async throws {
        let (one, other) = (try server.client(), try server.client())
        let place = one.reference(withPath: "x")
        try await place.setValue(10)
        let log = EventLog()
        log.observe(place, "", [.value])
        #expect(await log.next() == "value: 10")
        let connection = EventLog()
        connection.observe(one.reference(withPath: ".info/connected"), "", [.value])
        #expect(await connection.next() == "value: true")
        one.goOffline()
        #expect(await connection.next() == "value: false")
        try await other.reference(withPath: "x").setValue(20)
        async let result = place.transaction(of: Int.self) { $0 = ($0 ?? 0) + 1 }
        #expect(await log.next() == "value: 11")
        one.goOnline()
        #expect(try await result.value == 21)
        #expect(try await other.reference(withPath: "x").getData().value == 21)
    }

    @Test("without local events nothing is seen before the server agrees")
    func hidden() async throws {
        let place = try server.client().reference(withPath: "x")
        let log = EventLog()
        log.observe(place, "", [.value])
        #expect(await log.next() == "value: null")
        try await place.runTransactionBlock(withLocalEvents: false) { data in
            data.value = 1
            return .success(withValue: data)
        }
        #expect(await log.next() == "value: 1")
    }

    @Test(
        "without local events many are under way at once, each made from the results of those before it",
        arguments: [false, true])
    func manyHidden(byServer: Bool) async throws {
        let counter = try server.client().reference(withPath: "counter")
        try await withThrowingTaskGroup { group in
            for _ in 0..<40 {
                group.addTask {
                    try await counter.runTransactionBlock(withLocalEvents: false) { data in
                        let next = DatabaseValue.int(Int64((data.value.int ?? 0) + 1))
                        data.value = byServer ? ServerValue.increment(1) : next
                        return .success(withValue: data)
                    }.isCommitted
                }
            }
            for try await isCommitted in group { #expect(isCommitted) }
        }
        #expect(try await counter.getData().value == 40)
    }

    @Test("many that are under way at once each have their own result")
    func ownResults() async throws {
        let database = try server.client { $0.startsOnline = false }
        let log = EventLog()
        for _ in 0..<10 {
            database.reference(withPath: "tickets").runTransactionBlock { data in
                data.value = .int(Int64((data.value.int ?? 0) + 1))
                return .success(withValue: data)
            } andCompletionBlock: { _, _, snapshot in
                log.add("\(snapshot?.value ?? "no value")")
            }
        }
        database.goOnline()
        #expect(await log.next(10) == (1...10).map { "\($0)" })
    }

    @Test("those made from the result of a hidden one that is refused are made again")
    func refusedHidden() async throws {
        let rules = #"{"rules":{".read":true,".write":true,"x":{".validate":"newData.val() != 'ab'"}}}"#
        let server = try TestDatabase { configuration, folder in
            configuration.rulesFile = try folder.write(rules, as: "rules.json")
        }
        let database = try server.client { $0.startsOnline = false }
        let place = database.reference(withPath: "x")
        let log = EventLog()
        for letter in ["a", "b", "c", "d"] {
            place.runTransactionBlock(
                { data in
                    data.value = .string((data.value.string ?? "") + letter)
                    return .success(withValue: data)
                },
                andCompletionBlock: { error, isCommitted, _ in log.add("\(letter) \(error == nil) \(isCommitted)") },
                withLocalEvents: false)
        }
        database.goOnline()
        #expect(await log.next(4).sorted() == ["a true true", "b false false", "c true true", "d true true"])
        #expect(try await place.getData().value == "acd")
    }

    private struct Post: Codable, Sendable, Equatable {
        var title: String
        var likes: [String: Bool]
        var draft: Bool?
    }

    @Test("changes the members that it names and leaves the others, with their priorities")
    func members() async throws {
        let place = try server.client().reference(withPath: "post")
        try await place.setValue(
            [
                "title": [".value": "A", ".priority": 1], "likes": ["ann": true, "bob": true], "draft": true,
                "unknown": ["deep": [".value": 1, ".priority": "p"]],
            ], andPriority: 5)
        let outcome = try await place.transaction(of: Post.self) { post in
            post?.title = "B"
            post?.likes["ann"] = nil
            post?.likes["cid"] = true
            post?.draft = nil
        }
        #expect(
            outcome
                == TransactionOutcome(
                    isCommitted: true, value: Post(title: "B", likes: ["bob": true, "cid": true], draft: nil)))
        #expect(
            try await place.getData().exportValue == [
                ".priority": 5, "title": [".value": "B", ".priority": 1], "likes": ["bob": true, "cid": true],
                "unknown": ["deep": [".value": 1, ".priority": "p"]],
            ])
        let removed = try await place.transaction(of: Post.self) { $0 = nil }
        #expect(removed == TransactionOutcome(isCommitted: true, value: nil))
        #expect(try await place.getData().exists() == false)
    }

    struct Item: Codable, Hashable, Sendable {
        var name: String
        var count = 1
    }

    /// As another program stores an item: with a member that the type does not declare.
    private static func stored(_ name: String, _ count: Int64 = 1) -> DatabaseValue {
        ["name": .string(name), "count": .int(count), "note": .string("of \(name)")]
    }

    private static func bare(_ name: String) -> DatabaseValue { ["name": .string(name), "count": 1] }

    /// A change of a list of three items, and what is stored then.
    struct ListChange: Sendable {
        let result: [DatabaseValue]?
        let change: @Sendable (inout [Item]) -> Void
    }

    private static let listChanges = [
        ListChange(result: [stored("a"), stored("b", 2), stored("c")]) { $0[1].count = 2 },
        ListChange(result: [stored("a"), stored("b"), stored("c"), bare("d")]) { $0.append(Item(name: "d")) },
        ListChange(result: [stored("a"), stored("b")]) { $0.removeLast() },
        ListChange(result: [stored("b"), stored("c")]) { $0.removeFirst() },
        ListChange(result: [stored("a"), bare("d"), stored("b"), stored("c")]) { $0.insert(Item(name: "d"), at: 1) },
        ListChange(result: [stored("c"), stored("b"), stored("a")]) { $0.reverse() },
        ListChange(result: nil) { $0.removeAll() },
    ]

    @Test(
        "elements of arrays that stay at their index, or move unchanged, keep members that the type does not declare",
        arguments: listChanges)
    func elements(change: ListChange) async throws {
        let place = try server.client().reference(withPath: "items")
        try await place.setValue([Self.stored("a"), Self.stored("b"), Self.stored("c")])
        try await place.transaction(of: [Item].self) { items in
            var list = items ?? []
            change.change(&list)
            items = list
        }
        #expect(try await place.getData().value.array == change.result)
    }

    /// A type of a later version than the data.
    private struct LaterItem: Codable, Sendable {
        var name: String
        var rank = 7

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            name = try members.decode(String.self, forKey: .name)
            rank = try members.decodeIfPresent(Int.self, forKey: .rank) ?? 7
        }
    }

    @Test("elements of arrays keep them also where the type has members that are not stored yet")
    func laterElements() async throws {
        let place = try server.client().reference(withPath: "items")
        try await place.setValue([Self.stored("a"), Self.stored("b")])
        try await place.transaction(of: [LaterItem].self) { $0?[1].name = "c" }
        let items = try await place.getData().value.array
        #expect(items?.first == Self.stored("a"))
        #expect(items?.last == ["name": "c", "count": 1, "note": "of b"])
    }

    @Test("a set, which is not encoded in the order in which it is stored, is written as a whole")
    func sets() async throws {
        let place = try server.client().reference(withPath: "items")
        let names = (0..<20).map { "item \($0)" }
        try await place.setValue(.array(names.map { Self.stored($0) }))
        try await place.transaction(of: Set<Item>.self) { items in
            items?.remove(Item(name: names[3]))
            items?.insert(Item(name: "new"))
        }
        let items = try await place.getData().children.map { $0["name"].string }
        #expect(Set(items) == Set(names).subtracting([names[3]]).union(["new"]))
        #expect(items.count == 20)
    }

    @Test("an element that moves takes its priority along, and so do numbers that others read as fractions")
    func movedElements() async throws {
        let place = try server.client().reference(withPath: "numbers")
        try await place.setValue([1, 2, 3])
        try await place.child("2").setPriority("last")
        try await place.transaction(of: [Double].self) { $0?.removeFirst() }
        #expect(try await place.getData().exportValue == ["0": 2, "1": [".value": 3, ".priority": "last"]])
    }

    @Test("a block changes parts of the data, and what it leaves alone keeps its priorities and its bytes")
    func parts() async throws {
        let database = try server.client()
        let place = database.reference(withPath: "x")
        // Two keys that are one string for Swift.
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        try await place.child(composed).setValue(1, andPriority: 1)
        try await place.child(decomposed).setValue(2, andPriority: 2)
        try await place.child("list/a").setValue(3, andPriority: 3)
        let (isCommitted, snapshot) = try await place.runTransactionBlock { data in
            #expect(data.childrenCount == 3)
            #expect(data.hasChildren())
            #expect(data.hasChild(atPath: "list/a"))
            #expect(data.children.map(\.key?.utf8.count) == [6, 5, 4])
            #expect(data.childData(byAppendingPath: "list/a").priority == 3)
            data["list/b"].value = ["at": ServerValue.timestamp()]
            data["list/a"].value = 4
            data["count"].value = ServerValue.increment(2)
            return .success(withValue: data)
        }
        #expect(isCommitted)
        #expect(snapshot.childrenCount == 4)
        #expect(snapshot[composed].priority == 1)
        #expect(snapshot[decomposed].priority == 2)
        #expect(snapshot["list/a"].int == 4)
        #expect(snapshot["list/a"].priority == 3)
        #expect(snapshot["count"].int == 2)
        #expect(try await place.child("list/b/at").getData().int ?? 0 > 1_700_000_000_000)
        let reason = "'a.b' is not a path: a key contains one of . $ # [ ] / or a control character"
        await #expect(throws: DatabaseError.invalidPath(reason)) {
            try await place.runTransactionBlock { data in
                data["a.b"].value = 1
                return .success(withValue: data)
            }
        }
    }

    @Test("server values that a block reads after setting them stay server values")
    func readServerValues() async throws {
        let place = try server.client().reference(withPath: "fruit")
        try await place.setValue(["apples": 1, "pears": ["stock": 1]])
        try await place.child("pears").setPriority(7)
        try await place.runTransactionBlock { data in
            data["updatedAt"].value = ServerValue.timestamp()
            data["pears/stock"].value = ServerValue.increment(2)
            data["pears/at"].value = [".value": ServerValue.timestamp(), ".priority": 1]
            #expect(data["updatedAt"].value == ServerValue.timestamp())
            #expect(data["pears"].value == ["stock": ServerValue.increment(2), "at": ServerValue.timestamp()])
            data.value["apples"] = 2
            return .success(withValue: data)
        }
        var snapshot = try await place.getData()
        #expect(snapshot["apples"].int == 2)
        #expect(snapshot["pears/stock"].int == 3)
        #expect(snapshot["updatedAt"].int ?? 0 > 1_700_000_000_000)
        #expect(snapshot["pears/at"].int ?? 0 > 1_700_000_000_000)

        try await place.child("updatedAt").removeValue()
        try await place.runTransactionBlock { data in
            data["updatedAt"].value = ServerValue.timestamp()
            for child in data.children {
                var child = child
                child.priority = .string(child.key ?? "")
                data[child.key ?? ""] = child
            }
            return .success(withValue: data)
        }
        snapshot = try await place.getData()
        #expect(snapshot["updatedAt"].int ?? 0 > 1_700_000_000_000)
        #expect(snapshot.children.map(\.priority) == ["apples", "pears", "updatedAt"])
    }
}
