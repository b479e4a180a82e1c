import HearthIdentity
import HearthTestSupport
import Testing

@Suite("What is learnt of the projects of clients, in development mode (accounts.md 3)") struct ClientProjectsTests {
    private let folder = TemporaryFolder()

    private func fixture() throws -> AccountsFixture {
        let path = folder.path
        return try AccountsFixture(in: folder) { $0.projectsFile = path + "/client-projects.json" }
    }

    private func project(_ fixture: AccountsFixture, key: String? = nil, app: String? = nil) throws -> String {
        let named = try fixture.accounts.project(ofUser: nil, tenant: nil, key: key, app: app)
        return try fixture.accounts.realm(project: named, tenant: nil).project
    }

    @Test("the project that was named last, the apps and those with accounts are known to the next server")
    func kept() throws {
        do {
            let first = try fixture()
            #expect(try project(first, app: "a") == "hearth")
            let database = ClientProjects.Naming.database("alpha-default-rtdb", app: "a")
            #expect(first.accounts.projects.isNews(database))
            try first.accounts.learn(database)
            #expect(!first.accounts.projects.isNews(database))
            try first.accounts.learn(.tool(project: "beta"))
            var new = NewUser()
            new.id = "u"
            _ = try first.accounts.create(new, in: Realm(project: "gamma"))
        }
        let second = try fixture()
        #expect(try project(second) == "beta")
        #expect(try project(second, app: "a") == "alpha")
        #expect(try project(second, key: "gamma") == "gamma")
        #expect(try project(second, key: "delta") == "beta")
    }

    @Test("a database tells a project by its full name, or by that of a known project")
    func databases() throws {
        let fixture = try fixture()
        for name in ["default", "gamma", "-default-rtdb", "a b-default-rtdb"] {
            let naming = ClientProjects.Naming.database(name, app: "x")
            #expect(!fixture.accounts.projects.isNews(naming))
            try fixture.accounts.learn(naming)
        }
        #expect(try project(fixture, app: "x") == "hearth")
        try fixture.accounts.learn(.tool(project: "gamma"))
        try fixture.accounts.learn(.tool(project: "delta"))
        try fixture.accounts.learn(.database("gamma", app: "x"))
        #expect(try project(fixture) == "gamma")
        #expect(try project(fixture, app: "x") == "gamma")
    }

    @Test("accounts from before the first name are taken over, but not beside those of the name")
    func adoption() throws {
        let fixture = try fixture()
        let id = try fixture.signUp("ann@example.com").user.id
        try fixture.accounts.learn(.tool(project: "alpha"))
        let found = try fixture.accounts.lookUp([.email("ann@example.com")], in: Realm(project: "alpha"))
        #expect(found.map(\.id) == [id])
        try fixture.accounts.learn(.tool(project: "beta"))
        #expect(try fixture.accounts.userCount(in: Realm(project: "beta")) == 0)
    }

    @Test("without a file clients are of the project of the operator's choice")
    func chosen() throws {
        let fixture = try AccountsFixture()
        try fixture.accounts.learn(.tool(project: "alpha"))
        try fixture.accounts.learn(.database("alpha", app: "a"))
        #expect(try project(fixture, key: "alpha", app: "a") == "hearth")
    }
}
