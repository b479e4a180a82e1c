import HearthEventLoop
import Glibc
import HearthJSONTree
import HearthJSONValues
import HearthWireProtocol
import HearthClientSession
import HearthConnection

/// Commands that move large values between files and the server.
extension ShellCommand {
    static let importing = ShellCommand(
        name: "import", synopsis: "[PATH] FILE [OPTIONS]", summary: "Read JSON of any size from a file.",
        details: """
            What is at PATH goes first; --merge keeps it, but for the children that the JSON names. The file is checked
            before anything is written.
            """, words: .files,
        options: [.init(name: "merge", value: nil, help: "keep what is there"), .yes]
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(1...2)
        let file = arguments.words.last?.text ?? ""
        let base = try session.path(arguments.words.count > 1 ? arguments.words[0] : nil)
        let merges = arguments.has("merge")
        let bytes = try await session.check(file, base: base, merges: merges)
        if !merges, !arguments.has("yes"), try await session.page(base, limit: 1).node.type != "null" {
            try session.confirm("\(base) is not empty, and everything there will be replaced")
        }
        let change = JSONObject(["path": .text("\(base)"), "file": .text(file), "bytes": .integer(Int64(bytes))])
        try await session.change("write \(ByteText(bytes)) of JSON to \(base)", as: change) { () throws(ShellError) in
            var importer = Importer(try await session.data(), base: base, merges: merges)
            try await session.read(file) { (piece) throws(ImportFailure) in
                if let piece { try await importer.append(piece) } else { try await importer.finish() }
            }
            if !session.isJSON { try session.out.line("\(base): \(ByteText(bytes)) of JSON written") }
        }
    }

    static let export = ShellCommand(
        name: "export", synopsis: "[PATH] [FILE]", summary: "Write a value as JSON, however large, to a file or here.",
        details: "The value is that of one moment. FILE is FILE.part until it is whole.", words: .path,
        options: [
            .init(name: "at", value: "MOMENT", help: "what was there then, where the history is kept: see 'help diff'")
        ]
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...2)
        let path = try session.path(arguments.words.first)
        let moment = try arguments.word("at").map { (word) throws(ShellError) in try session.moment(word, arguments) }
        let call = try await session.request(path, query: "format=export", at: moment)
        let name = arguments.words.count > 1 ? arguments.words[1].text : nil
        let file = name == "-" ? nil : name
        let output = try OutputFile(file)
        do throws(ConnectionError) {
            try await Download.run(call, on: session.target.loop, options: session.target.options) { output.write($0) }
        } catch {
            output.discard()
            if file == nil, StandardOutput.isAbandoned { throw .stopped }
            throw output.failure.map { .failed($0) } ?? session.described(error)
        }
        let bytes = try output.finish()
        guard let file else { return }
        let result = JSONObject(["file": .text(file), "bytes": .integer(Int64(bytes))])
        try session.show(.object(result)) { ["\(file): \(ByteText(bytes))"] }
    }
}

extension ShellSession {
    private static let pieceBytes = 256 << 10

    /// Reads a file, or standard input for `-`, in pieces; nil is the end of it.
    func read(
        _ file: String, _ body: ([UInt8]?) async throws(ImportFailure) -> Void
    ) async throws(ShellError) {
        let descriptor = file == "-" ? dup(STDIN_FILENO) : Glibc.open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .failed("cannot read \(file): \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        var failure: String?
        do throws(ImportFailure) {
            var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
            while true {
                if Task.isCancelled { throw .connection(.cancelled) }
                let count = Glibc.read(descriptor, &piece, piece.count)
                if count < 0 {
                    if errno == EINTR { continue }
                    failure = "cannot read \(file): \(String(cString: strerror(errno)))"
                    break
                }
                if count == 0 { break }
                try await body(Array(piece[..<count]))
            }
            if failure == nil { try await body(nil) }
        } catch {
            switch error {
            case .text(let error): throw .failed("\(file): \(error)")
            case .tooLarge(let error): throw .failed("\(file): \(error)")
            case .connection(let error): throw ShellError(error)
            }
        }
        if let failure { throw .failed(failure) }
    }

    /// Reads a file for its mistakes; answers its bytes.
    func check(_ file: String, base: Path, merges: Bool) async throws(ShellError) -> Int {
        var reader = ImportReader(base: base, merges: merges)
        var bytes = 0
        try await read(file) { (piece) throws(ImportFailure) in
            if let piece { reader.append(piece) } else { reader.finish() }
            bytes += piece?.count ?? 0
            while let _ = try reader.next() {}
        }
        return bytes
    }
}
