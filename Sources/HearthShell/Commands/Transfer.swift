import HearthClientSession
import HearthConnection
import HearthJSONTree
import HearthJSONValues

/// Commands that move large values between files and the server.
extension ShellCommand {
    static let importing = ShellCommand(
        name: "import", synopsis: "[PATH] FILE [OPTIONS]",
        summary: "Read JSON of any size from a file, and write it to a place.",
        json: #"{"path", "file", "bytes"}."#,
        details: """
            FILE - is standard input. The JSON is that of 'export' or of the Firebase console: .priority and .value are
            understood.

            What is at PATH goes first; --merge replaces only the children that the JSON names. The
            value is written bit by bit, so others see it grow; if the import breaks off, a part of it is there.

            A file is checked as a whole before anything is written. What comes from standard input is checked as it comes,
            and the error says how much of it is written. Exit code 65 says that the JSON is wrong.
            """, words: .path,
        options: [
            .init(name: "merge", value: nil, help: "replace only the children that the JSON names"),
            .yes,
        ], runsAlone: true, urlIsPath: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(1...2)
        let base = try session.path(arguments.words.count > 1 ? arguments.words[0] : nil)
        let word = arguments.words.last?.text ?? ""
        if word == "-" { try session.expectInput() }
        try await ImportJob(session, try InputFile(word), to: base, merges: arguments.has("merge")).run()
    }

    static let export = ShellCommand(
        name: "export", synopsis: "[PATH] [FILE] [OPTIONS]", summary: "Write a value as JSON, however large it is.",
        json: #"{"file", "bytes"}, with FILE."#,
        details: """
            Without FILE, or with -, the value goes to standard output. It is a snapshot: later writes do not appear in
            it. Priorities are shown as .priority, with .value beside those of leaves; 'import' reads it.

            FILE gets its name when it is whole; until then it is FILE.part. Exit code 69 says that the connection was lost,
            and that what came so far is not all. A server gives up after a minute in which nothing is read.

            --at exports an earlier value of a place whose history is kept, of any size.
            \(aboutMoments)
            """, words: .path,
        options: [
            .init(name: "pretty", letter: "p", value: nil, help: "laid out in lines"),
            .init(name: "at", value: "MOMENT", help: "the value at that moment, of a place whose history is kept"),
            .overwrite,
        ],
        runsAlone: true, urlIsPath: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...2)
        let path = try session.path(arguments.words.first)
        let moment = try arguments.word("at").map { (word) throws(ShellError) in try session.moment(word, arguments) }
        let name = arguments.words.count > 1 ? arguments.words[1].text : nil
        let file = name == "-" ? nil : name
        let output = try OutputFile(file, replaces: arguments.has("overwrite"))
        let progress = Progress("export", isWanted: output.isFile || !StandardOutput.isTerminal)
        do throws(ShellError) {
            let form = arguments.has("pretty") ? "&print=pretty" : ""
            let call = try await session.request(path, query: "format=export\(form)", at: moment)
            do throws(ConnectionError) {
                // A large value of the past is put together before its first byte comes.
                let patience = moment == nil ? Duration.seconds(300) : .seconds(3600)
                try await Download.run(
                    call, on: session.target.loop, options: session.target.options, patience: patience
                ) { bytes in
                    progress.add(bytes.count)
                    return output.write(bytes)
                }
            } catch {
                if file == nil, StandardOutput.isAbandoned { throw .stopped }
                if moment != nil, case .refused("HTTP 404", let text) = error {
                    throw .failed("\(text): '.history' in the settings says where it is kept")
                }
                throw output.failure.map { .failed($0) } ?? session.described(error)
            }
        } catch {
            progress.end()
            output.discard()
            throw error
        }
        progress.end()
        try session.report(output, try output.finish())
    }
}

extension ShellSession {
    /// Prints a description of the written file as JSON; as text it prints nothing.
    ///
    /// - parameter bytes: how many there are.
    func report(_ output: OutputFile, _ bytes: Int) throws(ShellError) {
        guard isJSON, let path = output.path else { return }
        try show(.object(JSONObject(["file": .text(path), "bytes": .integer(Int64(bytes))]))) { [] }
    }

    /// Throws where commands come from standard input, and nothing else can.
    func expectInput() throws(ShellError) {
        if !readsInput { throw .usage("standard input has the commands here: - cannot be read from it") }
    }
}
