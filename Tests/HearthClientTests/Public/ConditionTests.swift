import HearthServerSupport
import HearthClient
import HearthServer
import Testing

@Suite("Queries with conditions in the client", .timeLimit(.minutes(15)))
struct ConditionTests {
    private let server: TestDatabase

    init() throws { server = try TestDatabase() }

    private static let tasks: DatabaseValue = [
        "a": ["state": "open", "rank": 1, "due": 5, "tags": ["home": true]],
        "b": ["state": "open", "rank": 3, "due": 9],
        "c": ["state": "done", "rank": 3, "due": 1], "d": ["state": "open", "rank": 3, "due": 2],
    ]

    private struct Task: Codable, Sendable, Equatable {
        var rank: Int
    }

    @Test("every condition selects what it says")
    func conditions() async throws {
        let tasks = try server.client().reference(withPath: "tasks")
        try await tasks.setValue(Self.tasks)
        for (condition, keys) in [
            (.child("state").isEqual(to: "open"), "abd"), (.child("state").isNotEqual(to: "open"), "c"),
            (.child("due").isLess(than: 5), "cd"), (.child("due").isAtMost(5), "acd"),
            (.child("due").isGreater(than: 5), "b"), (.child("due").isAtLeast(5), "ab"),
            (.child("due").isIn([1, 2]), "cd"), (.child("due").isNotIn([1, 2]), "ab"),
            (.child("tags").has("home"), "a"), (.child("state").starts(with: "o"), "abd"),
            (.child("tags").exists, "a"), (.child("tags").isEqual(to: DatabaseValue.null), "bcd"),
            (.child("due").isEqual(to: 1) || .child("tags/home").isEqual(to: true), "ac"),
            (.child("rank").isEqual(to: 3) && .child("state").isEqual(to: "open"), "bd"),
            (.value.exists, "abcd"), (.any([.child("due").isEqual(to: 7)]), ""),
        ] as [(DatabaseCondition, String)] {
            let found = try await tasks.where(condition).getData()
            #expect(found.children.compactMap(\.key).joined() == keys, "\(condition)")
        }
    }

    @Test("orders, limits and cursors make pages, and fields choose what is sent")
    func pages() async throws {
        let tasks = try server.client().reference(withPath: "tasks")
        try await tasks.setValue(Self.tasks)
        let open = tasks.where(.child("state").isEqual(to: "open"))
            .queryOrdered(by: .child("rank").descending, .child("due"))
        #expect(try await open.getData().children.map(\.key) == ["d", "b", "a"])
        #expect(try await open.queryLimited(toFirst: 2).getData().children.map(\.key) == ["d", "b"])
        let first = try await open.queryLimited(toFirst: 2).getPage(fields: ["due", "tags/home"])
        #expect(first.children.map(\.value) == [["due": 2], ["due": 9]])
        let cursor = try #require(first.next)
        let rest = try await open.queryStarting(afterCursor: cursor).queryLimited(toFirst: 2).getPage()
        #expect(rest.children.map(\.key) == ["a"])
        #expect(rest.next == nil)
        let ordered = try await tasks.queryOrdered(byChild: "due").queryLimited(toFirst: 1).getPage()
        #expect(ordered.children.map(\.key) == ["c"])
        #expect(ordered.children[0].ref == tasks.child("c"))
    }

    @Test("aggregates are those of the children that the conditions select, once and after each commit")
    func aggregates() async throws {
        let (writer, reader) = (try server.client(), try server.client())
        let tasks = writer.reference(withPath: "tasks")
        try await tasks.setValue(Self.tasks)
        let open = reader.reference(withPath: "tasks").where(.child("state").isEqual(to: "open"))
        let figures = try await open.getAggregates(.count, .sum, .average, .min, .max, of: "due")
        #expect(figures.count == 3)
        #expect(figures.sum == 16)
        #expect(figures.min == 2)
        #expect(figures.max == 9)
        #expect(figures.average == 16.0 / 3)
        #expect(try await reader.reference(withPath: "nothing").getAggregates(.count, .max, of: "n").count == 0)

        var told = open.aggregates(.count, .sum, of: "due").makeAsyncIterator()
        #expect(try await told.next()?.sum == 16)
        try await tasks.child("a/due").setValue(6)
        #expect(try await told.next()?.sum == 17)
        // The figures stay as they are.
        try await tasks.child("a/rank").setValue(2)
        try await tasks.child("e").setValue(["state": "open", "due": 1.5])
        let last = try await told.next()
        #expect(last?.count == 4)
        #expect(last?.sum == 18.5)
        #expect(last?.average == nil)

        reader.goOffline()
        try await writer.reference(withPath: "tasks/e").removeValue()
        reader.goOnline()
        while let figures = try await told.next(), figures.count != 3 {}
    }

    @Test("fields of children come in the order of the query, and again when one of them changes")
    func fields() async throws {
        let (writer, reader) = (try server.client(), try server.client())
        let tasks = writer.reference(withPath: "tasks")
        try await tasks.setValue(Self.tasks)
        let open = reader.reference(withPath: "tasks").where(.child("state").isEqual(to: "open"))
            .queryOrdered(by: .child("rank").descending, .child("due")).queryLimited(toFirst: 2)
        var told = open.children(fields: "tags/home").makeAsyncIterator()
        let first = try await told.next()
        #expect(first?.map(\.key) == ["d", "b"])
        #expect(first?.map(\.value) == [["rank": 3, "due": 2], ["rank": 3, "due": 9]])
        // Fields that are not requested are not sent.
        try await tasks.child("b/title").setValue("Tea")
        try await tasks.child("b/tags").setValue(["home": true, "away": true])
        let second = try await told.next()
        #expect(second?.last?.value == ["rank": 3, "due": 9, "tags": ["home": true]])
        try await tasks.child("d/state").setValue("done")
        #expect(try await told.next()?.map(\.key) == ["b", "a"])
        reader.goOffline()
        try await tasks.removeValue()
        reader.goOnline()
        while let children = try await told.next(), !children.isEmpty {}

        var none = reader.reference(withPath: "none").children(fields: "x").makeAsyncIterator()
        #expect(try await none.next()?.isEmpty == true)
        for (query, reason) in [
            (open, "no fields are named"), (open.queryLimited(toFirst: 1), "the query has two limits"),
        ] {
            var refused = query.children().makeAsyncIterator()
            await #expect(throws: DatabaseError.invalidQuery(reason)) { try await refused.next() }
        }
        var invalid = reader.reference(withPath: "tasks").queryOrderedByValue().children(fields: "a")
            .makeAsyncIterator()
        let reason = "children that are ordered by their value have no fields"
        await #expect(throws: DatabaseError.invalidQuery(reason)) { try await invalid.next() }
    }

    @Test("aggregates of a query with an order or a limit are refused, and those of an unknown path")
    func invalidAggregates() async throws {
        let tasks = try server.client().reference(withPath: "tasks")
        let reason = "aggregates have conditions, and no order, bounds, limit or cursor"
        for query in [tasks.queryOrdered(byChild: "due"), tasks.queryLimited(toFirst: 1)] {
            await #expect(throws: DatabaseError.invalidQuery(reason)) { try await query.getAggregates(.count) }
        }
        await #expect(throws: DatabaseError.invalidQuery("'a.b' is not a path below a child")) {
            try await tasks.getAggregates(.sum, of: "a.b")
        }
    }

    @Test("observers are told of what comes, moves and goes, for this client's writes and those of others")
    func observing() async throws {
        let (writer, reader) = (try server.client(), try server.client())
        let tasks = writer.reference(withPath: "tasks")
        try await tasks.setValue(Self.tasks)
        let query = reader.reference(withPath: "tasks").where(.child("state").isEqual(to: "open"))
            .queryOrdered(by: .child("rank").descending, .child("due")).queryLimited(toFirst: 2)
        let log = EventLog()
        let kinds: [DataEventType] = [.childAdded, .childRemoved, .childMoved]
        log.observe(query, "", kinds)
        #expect(
            await log.next(2) == [
                #"childAdded d after -: {"due":2,"rank":3,"state":"open"}"#,
                #"childAdded b after d: {"due":9,"rank":3,"state":"open"}"#,
            ])
        try await tasks.child("d/state").setValue("done")
        #expect(
            await log.next(2).map { $0.prefix(20) } == ["childRemoved d after", "childAdded a after b"])
        try await reader.reference(withPath: "tasks/a/rank").setValue(4)
        #expect(await log.next() == #"childMoved a after -: {"due":5,"rank":4,"state":"open","tags":{"home":true}}"#)
        try await tasks.child("e").setValue(["state": "open", "rank": 9])
        #expect(
            await log.next(2).map { $0.prefix(20) } == ["childRemoved b after", "childAdded e after -"])
        #expect(try await query.getData().children.map(\.key) == ["e", "a"])
        query.removeAllObservers()
        try await tasks.child("f").setValue(["state": "open", "rank": 10])
        #expect(try await query.getData().children.map(\.key) == ["f", "e"])
        var lists = query.children(as: Task.self).makeAsyncIterator()
        let list = try #require(try await lists.next(isolation: nil))
        #expect(list.map(\.value) == [Task(rank: 10), Task(rank: 9)])
    }

    @Test("without a connection the conditions select from what is known and from this client's writes")
    func offline() async throws {
        let (writer, reader) = (try server.client(), try server.client())
        try await writer.reference(withPath: "tasks").setValue(Self.tasks)
        let tasks = reader.reference(withPath: "tasks")
        let query = tasks.where(.child("state").isEqual(to: "open")).queryOrdered(by: .child("due").descending)
        let log = EventLog()
        log.observe(query, "", [.childAdded, .childRemoved])
        #expect(await log.next(3).map { $0.prefix(12) } == ["childAdded b", "childAdded a", "childAdded d"])
        reader.goOffline()
        tasks.child("a/state").setValue("done") { _, _ in }
        #expect(await log.next()?.prefix(14) == "childRemoved a")
        tasks.child("z").setValue(["state": "open", "due": 1]) { _, _ in }
        #expect(await log.next()?.prefix(20) == "childAdded z after d")
        #expect(try await query.getData().children.map(\.key) == ["b", "d", "z"])
        reader.goOnline()
        try await reader.waitForPendingWrites()
        #expect(try await writer.reference(withPath: "tasks/a/state").getData().value == "done")
    }

    @Test("an observer of the whole place answers the query, without another listener")
    func covered() async throws {
        let database = try server.client()
        let tasks = database.reference(withPath: "tasks")
        try await tasks.setValue(Self.tasks)
        let log = EventLog()
        log.observe(tasks, "all", [.value])
        _ = await log.next()
        database.goOffline()
        log.observe(tasks.where(.child("rank").isLess(than: 3)), "low", [.childAdded])
        #expect(await log.next()?.prefix(16) == "low childAdded a")
    }

    @Test("a missing index is named in the log, and not missed once it is there")
    func index() async throws {
        let log = EventLog()
        let database = try server.client { options in
            options.logger = { entry in if entry.message.contains(".index") { log.add(entry.message) } }
        }
        let tasks = database.reference(withPath: "tasks")
        try await tasks.setValue(Self.tasks)
        let query = tasks.where(.child("state").isEqual(to: "open")).queryOrdered(by: .child("rank").descending)
        let message =
            "a query at /tasks looks at every child; with the setting \".index\": "
            + #"[[["state","asc"],["rank","desc"]]] it would not"#
        _ = try await query.getData()
        #expect(await log.next() == message)
        log.observe(query, "", [.value])
        #expect(await log.next(2).contains(message))
    }

    @Test("what does not fit together is refused before it is sent")
    func mistakes() async throws {
        let tasks = try server.client().reference(withPath: "tasks")
        let open = tasks.where(.child("state").isEqual(to: "open"))
        for (query, message) in [
            (open.queryStarting(atValue: 1), "a query with conditions has no bounds"),
            (open.queryLimited(toLast: 1), "a query with conditions has its first children: let it descend"),
            (open.queryOrderedByPriority(), "a query with conditions has no order by priorities"),
            (open.queryOrdered(by: .value).queryOrdered(by: .value), "the order is named once"),
            (tasks.where(.child("a.b").exists), "'a.b' is not a path below a child"),
            (tasks.where(.child("a").has("b/c")), "'b/c' is not a key"),
            (tasks.where(.any([])), "a list of conditions is empty"),
            (tasks.where(.child("a").isIn([Int]())), "in needs 1 to 100 values"),
            (
                tasks.where(.child("a").isEqual(to: ["x": 1])),
                "a value to compare with must be null, a Boolean, a number or a string"
            ),
            (
                tasks.where(.child("a").isLess(than: DatabaseValue.null)),
                "null has no range: it can be compared with == and != only"
            ),
            (open.queryStarting(afterCursor: "00"), "after is not a cursor of this query"),
        ] {
            await #expect(throws: DatabaseError.invalidQuery(message)) { try await query.getData() }
        }
        await #expect(throws: DatabaseError.invalidQuery("one of the fields lies in another")) {
            try await open.getPage(fields: ["a", "a/b"])
        }
    }

    @Test("an explanation names the index that is used, the work, and the index that is missing")
    func explanations() async throws {
        let index = #"[["state","asc"],["due","asc"]]"#
        let server = try TestDatabase { configuration, folder in
            configuration.settingsFile = try folder.write(
                #"{"settings":{"indexed":{".index":[\#(index)]}}}"#, as: "settings.json")
        }
        let database = try server.client()
        let tasks = database.reference(withPath: "tasks")
        try await tasks.setValue(Self.tasks)
        let open = tasks.where(.child("state").isEqual(to: "open"))
        let inOrder = open.queryOrdered(byChild: "due").queryLimited(toFirst: 2)
        let scanned = try await inOrder.explain()
        #expect(scanned.index == nil)
        #expect(scanned.examined == 4)
        #expect(scanned.needs == index)
        #expect(scanned.description == "no index, 4 examined, needs \(index)")
        let summed = try await open.explainAggregates(.count, .sum, of: "due")
        #expect(summed == scanned)
        #expect(try await tasks.queryLimited(toFirst: 1).explain().index == ".key")

        // With what it needs, the query looks at its page and one more child.
        let indexed = database.reference(withPath: "indexed").where(.child("state").isEqual(to: "open"))
        try await database.reference(withPath: "indexed").setValue(Self.tasks)
        let indexedInOrder = indexed.queryOrdered(byChild: "due").queryLimited(toFirst: 2)
        var served = try await indexedInOrder.explain()
        // The server builds its indexes in the background.
        while served.index == nil { served = try await indexedInOrder.explain() }
        #expect(served.index == index)
        #expect(served.examined == 3)
        #expect(served.needs == nil)
        #expect(served.description == "index \(index), 3 examined")
        let sum = try await indexed.explainAggregates(.sum, of: "due")
        #expect(sum == served)
    }

    @Test("an explanation is the server's: without it there is an error")
    func explanationErrors() async throws {
        let database = try server.client()
        let tasks = database.reference(withPath: "tasks")
        let open = tasks.where(.child("state").isEqual(to: "open"))
        await #expect(throws: DatabaseError.invalidQuery("a query with conditions has no bounds")) {
            try await tasks.queryOrdered(byChild: "due").queryEqual(toValue: 1).explain()
        }
        await #expect(throws: DatabaseError.invalidQuery("no aggregates are named")) {
            try await open.explainAggregates()
        }
        await #expect(throws: DatabaseError.invalidQuery("locations below .info have no pages")) {
            try await database.reference(withPath: ".info").where(.value.exists).explain()
        }
        database.goOffline()
        let offline = DatabaseError.connectionFailed(
            "the database is offline, and only the server can explain a query")
        await #expect(throws: offline) { try await open.explain() }
        await #expect(throws: offline) { try await open.explainAggregates(.count) }
        database.goOnline()
        #expect(try await open.explain().examined == 0)
        await database.close()
        await #expect(throws: DatabaseError.disconnected("the database was closed")) { try await open.explain() }
    }

    @Test("a server that knows no such queries is named as the reason")
    func olderServer() async throws {
        let old = ScriptedServer(
            .init(received: { peer, text in peer.answer(to: text, #""unknown action""#, status: "error") }))
        let database = try old.client()
        let query = database.reference(withPath: "tasks").where(.child("state").isEqual(to: "open"))
        let error = DatabaseError.refused(
            status: "error", message: "the server knows no queries with conditions: unknown action")
        await #expect(throws: error) { try await query.getData() }
        await #expect(throws: error) { try await query.getPage() }
        await #expect(throws: error) { try await query.explain() }
        await #expect(throws: error) { try await query.explainAggregates(.count) }
        await #expect(throws: error) { for try await _ in query.values() {} }
    }
}
