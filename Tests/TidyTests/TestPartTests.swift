import Testing

/// `scripts/run-tests` runs suites with members of etcd in parts of their own.
@Suite("The parts of the tests") struct TestPartTests {
    @Test("with members of etcd name all suites that start some")
    func etcd() throws {
        let script = try #require(SourceTree.file("scripts/run-tests"))
        let patterns = script.lines.compactMap { $0.wholeMatch(of: #/(?:placement|clusters)\+?='\|?(.*)'/#)?.1 }
        let names = try Regex(patterns.joined(separator: "|"))
        var found = 0
        for file in SourceTree.swiftFiles(in: "Tests") {
            let starts = file.lines.contains { line in
                line.has("EtcdServers(") || line.has("TestCluster(") || line.has("ProcessCluster(")
            }
            let target = file.path.split(separator: "/")[1]
            guard starts, target.hasSuffix("Tests"), target != "TidyTests" else { continue }
            let suites = file.lines.filter { $0.has("struct ") || $0.has("extension ") }.compactMap { line in
                line.firstMatch(of: #/^(?:@Suite.* )?(?:struct|extension) (\w+Tests)\b/#)?.1
            }
            for suite in suites {
                found += 1
                #expect("\(target).\(suite)/".prefixMatch(of: names) != nil, "\(file.path): \(suite)")
            }
        }
        #expect(found > 20)
    }
}
