import HearthClusterNode
import HearthDatabaseHost
import HearthEtcdGateway
import HearthEventLoop
import Glibc
import HearthTestSupport
import Testing
import HearthTreeStorage

@testable import HearthServer
@testable import HearthAccountEndpoints

@Suite("Checking a configuration")
struct ConfigurationCheckTests {
    private let folder = TemporaryFolder()

    private func configuration(_ rules: String = #"{"rules":{}}"#) -> ServerConfiguration {
        let file = folder.path + "/rules.json"
        TemporaryFolder.write(Array(rules.utf8), to: file)
        var configuration = ServerConfiguration(address: .loopback(port: 0), dataFolder: folder.path + "/data")
        configuration.rulesFile = file
        return configuration
    }

    private func findings(_ configuration: ServerConfiguration, now: Int64 = 0) -> [String] {
        ConfigurationCheck(configuration, now: now).findings.map { "\($0.severity): \($0.text)" }
    }

    @Test("finds nothing wrong with one that is in order, and leaves nothing behind")
    func good() {
        #expect(findings(configuration()) == [])
        #expect(TemporaryFolder.files(in: folder.path) == ["rules.json"])
    }

    @Test("finds what a node of a cluster cannot have")
    func cluster() throws {
        var node = configuration()
        node.cluster = ClusterConfiguration(EtcdStore.one([EtcdMember(host: "127.0.0.1")]), node: "n1")
        #expect(findings(node) == [])
        func error(_ part: String, _ change: (inout ServerConfiguration) -> Void) {
            var changed = node
            change(&changed)
            let found = findings(changed)
            #expect(found.contains { $0.hasPrefix("error: ") && $0.contains(part) }, "\(part): \(found)")
        }
        error("--node must have") { $0.cluster?.node = "a/b" }
        error("--node must have") { $0.cluster?.node = "" }
        error("--peer-listen names the address") {
            $0.cluster?.peers = PeerConfiguration(
                address: SocketAddress(hostAndPort: "0.0.0.0:9003")!, secret: ClusterSecret("secret"))
        }
        let everywhere = try #require(SocketAddress(hostAndPort: "0.0.0.0:0"))
        error("--peer-address names the address") {
            $0.cluster?.peers = PeerConfiguration(
                address: .loopback(port: 0), publicAddress: everywhere, secret: ClusterSecret("secret"))
        }
        var translated = node
        translated.cluster?.peers = PeerConfiguration(
            address: everywhere, publicAddress: SocketAddress(hostAndPort: "203.0.113.1:9003"),
            secret: ClusterSecret("secret"))
        #expect(!findings(translated).contains { $0.hasPrefix("error: ") })
        error("--durability full") { $0.durability = .process }
        error("--no-auth") { $0.identity = IdentityConfiguration() }
        error("--seed") { $0.seedFile = "seed.json" }
        error("--databases") { $0.databaseNames.creation = .byEverybody }
        node.cluster?.stores[0].members.append(EtcdMember(host: "10.0.0.1"))
        #expect(
            findings(node) == ["warning: 10.0.0.1:2379: connections to etcd are not encrypted, and it has all data"])
    }

    @Test("finds mistakes in the rules, and rules that are open")
    func rules() throws {
        let broken = findings(configuration(#"{"rules":{".read":"x("}}"#))
        #expect(broken.count == 1, "\(broken)")
        #expect(broken.first?.hasPrefix("error: \(folder.path)/rules.json:1:") == true, "\(broken)")
        var open = configuration(#"{"rules":{".read":true,".write":true}}"#)
        #expect(findings(open).contains { $0.hasPrefix("warning: ") && $0.contains("let everybody") })
        open.address = try #require(SocketAddress(hostAndPort: "0.0.0.0:0"))
        #expect(findings(open).contains { $0.hasPrefix("error: ") && $0.contains("let everybody") })
        open.allowsOpenRules = true
        #expect(!findings(open).contains { $0.contains("let everybody") })
        var none = configuration()
        none.rulesFile = nil
        #expect(findings(none).contains { $0.hasPrefix("error: ") && $0.contains("--rules") })
    }

    @Test("looks at rules and settings that were replaced together, as the server will")
    func publication() {
        var configuration = configuration()
        configuration.rulesFile = nil
        let data = configuration.dataFolder
        _ = FolderSync.makeFolder(data)
        func found(_ rules: String) -> [String] {
            let text = rules.replacing("\"", with: "\\\"")
            let both = #"{"rules":"\#(text)","settings":"{\"settings\":{}}"}"#
            TemporaryFolder.write(Array(both.utf8), to: data + "/shop.publication")
            return findings(configuration)
        }
        let open = #"{"rules":{".read":true,".write":true}}"#
        #expect(found(#"{"rules":{}}"#) == [])
        let text = "\(data)/shop.publication: these rules let everybody read or write everything"
        #expect(found(open) == ["warning: \(text)"])
        #expect(found("{").contains { $0.hasPrefix("error: \(data)/shop.publication:") })
        TemporaryFolder.write(Array(open.utf8), to: data + "/shop.rules")
        #expect(found(#"{"rules":{}}"#) == [])
    }

    @Test("finds certificates that do not fit, are over, or end soon")
    func certificates() throws {
        var configuration = configuration()
        configuration.tls = .init(certificate: folder.path + "/none.pem", key: folder.path + "/none.pem")
        #expect(findings(configuration).count == 1)
        let certificate = TestCertificate()
        configuration.tls = .init(certificate: certificate.certificateFile, key: certificate.keyFile)
        let expiry = try #require(
            try TLSContext.server(certificateFile: certificate.certificateFile, keyFile: certificate.keyFile).expiry)
        #expect(findings(configuration, now: expiry - 100 * 86_400) == [])
        #expect(findings(configuration, now: expiry - 3 * 86_400).first?.hasSuffix("ends in 3 days") == true)
        #expect(findings(configuration, now: expiry).first?.hasPrefix("error: the certificate") == true)
    }

    @Test("finds ports that are in use, unless by the server of this folder")
    func ports() throws {
        let server = try RealtimeTestServer()
        var configuration = configuration()
        configuration.address = server.server.address
        #expect(findings(configuration).count == 1)
        #expect(findings(configuration)[0].hasPrefix("error: listen on \(server.server.address)"))
        configuration.dataFolder = server.server.services.configuration.dataFolder
        let served = findings(configuration)
        #expect(!served.contains { $0.hasPrefix("error") }, "\(served)")
        #expect(served.contains { $0.contains("a server runs on") })
    }

    @Test("reads the files of trust, secrets and data as the server will, and looks where others will be made")
    func files() throws {
        func error(_ part: String, _ change: (inout ServerConfiguration) -> Void) {
            var changed = configuration()
            change(&changed)
            let found = findings(changed)
            #expect(found.contains { $0.hasPrefix("error: ") && $0.contains(part) }, "\(part): \(found)")
            #expect(throws: Server.StartError.self) { try Server(changed) }
        }
        let path = folder.path + "/file"
        TemporaryFolder.write(Array("[1".utf8), to: path)
        try #require(chmod(path, 0o644) == 0)
        error("\(path):") { $0.trustFile = path }
        error("\(path):1:") { $0.seedFile = path }
        error(path) { $0.legacySecretFile = path }
        error("--audit-log: \(folder.path) is a folder") { $0.auditFile = folder.path }
        error("--audit-log: there is no folder \(folder.path)/a") { $0.auditFile = folder.path + "/a/audit.log" }
        error("there is no folder \(folder.path)/a") { $0.dataFolder = folder.path + "/a/b" }
    }

    @Test("finds a folder that cannot be used, and a disk that is nearly full")
    func folders() throws {
        var configuration = configuration()
        configuration.dataFolder = folder.path + "/rules.json"
        #expect(findings(configuration).contains { $0.hasSuffix("is not a folder") })
        configuration.dataFolder = folder.path + "/data"
        try #require(mkdir(configuration.dataFolder, 0o755) == 0)
        #expect(findings(configuration).contains { $0.hasPrefix("warning: others may look into") })
        configuration.freeBytesMin = .max
        #expect(findings(configuration).contains { $0.hasPrefix("error: ") && $0.contains("--free-mib-min") })
        if geteuid() == 0 {
            TemporaryFolder.write([], to: configuration.dataFolder + "/default.log")
            try #require(chown(configuration.dataFolder + "/default.log", 12345, 12345) == 0)
            #expect(findings(configuration).contains { $0.contains("default.log belongs to another user") })
        }
    }
}
