import Glibc
import Testing

@Suite("The diagram of the modules") struct DiagramTests {
    /// What a script of the repository prints.
    private static func output(of script: String) throws -> [Substring] {
        let stream = try #require(popen("\(SourceTree.root)/scripts/\(script)", "r"))
        var output: [UInt8] = []
        while case let byte = getc(stream), byte != EOF { output.append(UInt8(byte)) }
        #expect(pclose(stream) == 0)
        return String(decoding: output, as: UTF8.self).split(separator: "\n").map { $0[...] }
    }

    @Test("is that of the sources: scripts/module-diagram prints the new one")
    func diagram() throws {
        let lines = try #require(SourceTree.file("ARCHITECTURE.md")).lines
        let start = try #require(lines.firstIndex(of: "```mermaid"))
        let end = try #require(lines[start...].firstIndex(of: "```"))
        let found = try Self.output(of: "module-diagram")
        #expect(found.count > 20)
        #expect(Array(lines[(start + 1)..<end]) == found)
    }
}
