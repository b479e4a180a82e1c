import HearthServerSupport
import HearthTestSupport
import Testing

@Suite(
    "The official admin SDK for Python", .timeLimit(.minutes(15)),
    .enabled("needs the package firebase-admin, in the Python that HEARTH_PYTHON names") {
        await PythonProcess.has("firebase_admin")
    })
struct AdminSDKTests {
    private let folder = TemporaryFolder()

    private func write(_ text: String, to name: String) -> String {
        let path = folder.path + "/" + name
        TemporaryFolder.write(Array(text.utf8), to: path)
        return path
    }

    private func expectSuccess(of process: HearthProcess) async throws {
        let outcome = try await process.outcome()
        #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.contains("checks passed"), "\(outcome.output)\(outcome.errors)")
    }

    @Test("in production, over TLS: the database, custom tokens, ID tokens and their revocation")
    func production() async throws {
        let rules = #"""
            {"rules":{"rows":{".indexOn":"n"},"values":{".indexOn":".value"},
              "own":{"$u":{".read":"auth.uid === $u",".write":"auth.uid === $u"}}}}
            """#
        let certificate = write(FixedCertificate.certificate, to: "certificate.pem")
        let data = folder.path + "/data"
        let server = try await ServerProcess(
            data, isDevelopment: false, "--rules", write(rules, to: "rules.json"), "--tls-cert", certificate,
            "--tls-key", write(FixedCertificate.key, to: "key.pem"))
        let key = folder.path + "/service-account.json"
        try #require(try await HearthProcess.run("admin", "create-key", key, "--data", data).code == 0)
        let admin = String(decoding: TemporaryFolder.contents(of: data + "/admin-url"), as: UTF8.self)
        try await expectSuccess(
            of: PythonProcess.start(
                "admin_sdk_production.py", key, "https://\(server.address)", admin,
                environment: ["REQUESTS_CA_BUNDLE": certificate]))
    }

    @Test("in development, for projects that nobody named to the server: accounts, tokens and data of each")
    func projects() async throws {
        let server = try await ServerProcess(folder.path)
        try await expectSuccess(
            of: PythonProcess.start(
                "admin_sdk_projects.py",
                environment: [
                    "FIREBASE_AUTH_EMULATOR_HOST": server.address, "FIREBASE_DATABASE_EMULATOR_HOST": server.address,
                ]))
    }

    @Test("in development: users, claims, custom tokens, revocation, session cookies, links, imports")
    func development() async throws {
        let server = try await ServerProcess(folder.path)
        try await expectSuccess(
            of: PythonProcess.start(
                "admin_sdk_development.py",
                environment: [
                    "FIREBASE_AUTH_EMULATOR_HOST": server.address, "FIREBASE_DATABASE_EMULATOR_HOST": server.address,
                ]))
    }
}
