import Testing

/// The console's settings screen shows the options in force. A new one must not be forgotten there.
@Suite("The options of the server")
struct OptionTests {
    /// They say how a server is started, not how it is set up; development mode and accounts have names of their own.
    private static let others: Set<String> = ["config", "check", "allow-root", "adopt-dev-data", "dev", "no-auth"]

    private static func names(_ file: String, _ pattern: Regex<(Substring, Substring)>) throws -> Set<String> {
        let lines = try #require(SourceTree.file(file)).lines
        return Set(lines.joined(separator: "\n").matches(of: pattern).map { String($0.output.1) })
    }

    @Test("are all told to administrators, by the names that they have on the command line")
    func settings() throws {
        let options = try Self.names("Sources/hearth/ServeCommand.swift", /name: "([a-z-]+)", value:/)
        let told = try Self.names("Sources/HearthServer/ServerDescription.swift", /"([a-z-]+)":/)
        #expect(options.count > 60)
        #expect(options.subtracting(told).subtracting(Self.others) == [])
    }
}
