import HearthServerSupport
import HearthClient
import HearthTestSupport
import Testing

@testable import HearthClient

@Suite("Names that port from Firebase's Apple SDK", .timeLimit(.minutes(15)))
struct PortedNameTests {
    @Test("a reference has a URL, which leads back to it, and one of another server is refused")
    func urls() async throws {
        let server = try TestDatabase()
        let database = try Database(url: server.urlText + "/?ns=shop")
        let reference = database.reference(withPath: "rooms/lobby one/ü")
        let base = server.urlText.replacing("ws://", with: "http://")
        #expect(reference.url == base + "/rooms/lobby%20one/%C3%BC?ns=shop")
        #expect(database.reference(fromURL: reference.url) == reference)
        #expect(database.reference().url == base + "/?ns=shop")
        try await database.reference(fromURL: base + "/a/b?ns=shop").setValue(1)
        #expect(try await database.reference(withPath: "a/b").getData().int == 1)
        for other in ["http://example.com/a?ns=shop", base + "/a?ns=other", "nonsense"] {
            await #expect {
                try await database.reference(fromURL: other).setValue(1)
            } throws: { error in
                if case DatabaseError.invalidURL = error { true } else { false }
            }
        }
    }

    @Test("the URL of a location below .info leads back to it, and that of no location to none")
    func specialURLs() async throws {
        let server = try TestDatabase()
        let database = try Database(url: server.urlText + "/?ns=shop")
        let base = server.urlText.replacing("ws://", with: "http://")
        for (path, url) in [(".info/connected", "/.info/connected?ns=shop"), (".info", "/.info?ns=shop")] {
            let reference = database.reference(withPath: path)
            #expect(reference.url == base + url)
            #expect(database.reference(fromURL: reference.url) == reference)
        }
        try await database.reference(withPath: "a").setValue(1)
        for wrong in [database.reference(withPath: "a.b").url, base + "/a/.info?ns=shop", base + "/.infos?ns=shop"] {
            await #expect {
                try await database.reference(fromURL: wrong).removeValue()
            } throws: { error in
                if case DatabaseError.invalidURL = error { true } else { false }
            }
        }
        #expect(try await database.reference(withPath: "a").getData().int == 1)
    }

    @Test("getData with a block gives the value, or the reason why not")
    func getData() async throws {
        let server = try TestDatabase()
        let database = try Database(url: server.urlText)
        try await database.reference(withPath: "list").setValue(["b": 2, "a": 1])
        func get(_ query: some DatabaseQueryable) async -> (DatabaseError?, DataSnapshot?) {
            await withCheckedContinuation { continuation in
                query.getData { continuation.resume(returning: ($0, $1)) }
            }
        }
        let query = database.reference(withPath: "list").queryOrderedByValue().queryLimited(toLast: 1)
        let (error, snapshot) = await get(query)
        #expect(error == nil)
        #expect(snapshot?.children.map(\.key) == ["b"])
        guard case (.invalidPath?, nil) = await get(database.reference(withPath: "a.b")) else {
            Issue.record("no error")
            return
        }
        await database.close()
        #expect(await get(query).0 == .closed)
    }

    @Test("a single event has the key before it")
    func previousKey() async throws {
        let server = try TestDatabase()
        let database = try Database(url: server.urlText)
        let list = database.reference(withPath: "list")
        try await list.setValue(["a": 1, "b": 2])
        let query = list.queryOrderedByKey().queryStarting(atValue: "b")
        let (first, before) = try await query.observeSingleEventAndPreviousSiblingKey(of: .childAdded)
        #expect(first.key == "b")
        #expect(before == nil)
        let told = await withCheckedContinuation { continuation in
            list.observeSingleEvent(
                of: .value, andPreviousSiblingKeyWith: { continuation.resume(returning: ($0.childrenCount, $1)) })
        }
        #expect(told == (2, nil))
    }

    @Test("queries are equal if they select the same, and a value has its priorities in the export format")
    func small() async throws {
        let server = try TestDatabase()
        let database = try Database(url: server.urlText)
        let list = database.reference(withPath: "list")
        #expect(Set([list.queryLimited(toLast: 1), list.queryLimited(toLast: 1), list.query]).count == 2)
        try await list.setValue(1, andPriority: 2)
        #expect(try await list.getData().valueInExportFormat() == [".value": 1, ".priority": 2])
    }
}

@Suite("Tenants and ways to sign in", .timeLimit(.minutes(15)))
struct TenantTests {
    @Test("a tenant has users of its own")
    func tenants() async throws {
        let server = try AccountServer()
        let auth = try server.auth { $0.tenantID = "school" }
        let pupil = try await auth.createUser(withEmail: "ann@example.com", password: "secret1").user
        #expect(auth.tenantID == "school")
        #expect(pupil.tenantID == "school")
        let database = try server.client(auth)
        #expect(try await pupil.getIDTokenResult().claims["firebase"]?["tenant"] == "school")
        try await pupil.reload()
        auth.tenantID = nil
        #expect(auth.currentUser === pupil)
        let error = await #expect(throws: AuthError.self) {
            try await auth.signIn(withEmail: "ann@example.com", password: "secret1")
        }
        #expect(error?.code == .userNotFound)
        let other = try await auth.createUser(withEmail: "ann@example.com", password: "secret2").user
        #expect(other.tenantID == nil)
        #expect(other.uid != pupil.uid)
        await database.close()
    }

    @Test("the ways to sign in to an account are told where the server tells them")
    func methods() async throws {
        let server = try AccountServer()
        let auth = try server.auth()
        #expect(try await auth.fetchSignInMethods(forEmail: "ann@example.com").isEmpty)
        try await auth.createUser(withEmail: "ann@example.com", password: "secret1")
        #expect(try await auth.fetchSignInMethods(forEmail: "ann@example.com") == ["password"])
        let error = await #expect(throws: AuthError.self) { try await auth.fetchSignInMethods(forEmail: "nonsense") }
        #expect(error?.code == .invalidEmail)
    }
}
