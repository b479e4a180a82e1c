import HearthClientSession
import HearthConnection
import HearthJSONTree
import HearthJSONValues
import HearthWireProtocol

/// One import, step by step.
struct ImportJob {
    private let session: ShellSession
    private let input: InputFile
    private let base: Path
    private let merges: Bool

    init(_ session: ShellSession, _ input: InputFile, to base: Path, merges: Bool) {
        (self.session, self.input, self.base, self.merges) = (session, input, base, merges)
    }

    func run() async throws(ShellError) {
        if input.isRepeatable || session.isDry {
            let bytes = try check()
            if session.isDry {
                let text = "write \(ByteText(bytes)) of JSON to \(base)"
                return try await session.change(text, as: summary(bytes)) { () throws(ShellError) in }
            }
        }
        if !merges, try await !isEmpty() {
            let what = "replace what is in \(base)"
            try session.confirm("\(what), which is not empty")
            session.announce(what)
        }
        let bytes = try await write()
        if session.isJSON { try session.show(.object(summary(bytes))) { [] } }
    }

    private func summary(_ bytes: Int) -> JSONObject {
        JSONObject(["path": .text("\(base)"), "file": .text(input.name), "bytes": .integer(Int64(bytes))])
    }

    /// Reads the text for its mistakes; answers its bytes.
    private func check() throws(ShellError) -> Int {
        let progress = Progress("check", total: input.size)
        defer { progress.end() }
        var reader = ImportReader(base: base, merges: merges)
        var count = 0
        func readAll() throws(ShellError) {
            do throws(ImportFailure) { while let _ = try reader.next() {} } catch {
                throw described(error).adding("; nothing was written")
            }
        }
        while let bytes = try input.next() {
            reader.append(bytes)
            try readAll()
            progress.add(bytes.count)
            count += bytes.count
        }
        reader.finish()
        try readAll()
        if input.isRepeatable { try input.rewind() }
        return count
    }

    private func isEmpty() async throws(ShellError) -> Bool {
        guard session.isAdministrator else { return try await session.keys(base, limit: 1).isNull }
        return try await session.page(base, limit: 1).node.type == "null"
    }

    /// Answers the bytes of the text.
    private func write() async throws(ShellError) -> Int {
        var importer = Importer(try await session.data(), base: base, merges: merges)
        let progress = Progress("import", total: input.size)
        defer { progress.end() }
        var count = 0
        do throws(ShellError) {
            while let bytes = try input.next() {
                count += bytes.count
                try await reporting { () throws(ImportFailure) in try await importer.append(bytes) }
                progress.reach(importer.writtenOffset)
            }
            try await reporting { () throws(ImportFailure) in try await importer.finish() }
            progress.reach(importer.writtenOffset)
            return count
        } catch {
            var failure = error
            switch error {
            case .lost, .stopped: break
            case .usage, .data, .failed, .negative, .givenUp:
                do throws(ShellError) {
                    try await reporting { () throws(ImportFailure) in try await importer.drain() }
                } catch { failure = error }
            }
            let state =
                importer.hasBegun
                ? "what stands before byte \(importer.writtenOffset) is written" : "nothing was written"
            if case .stopped = failure {
                progress.end()
                session.tell(state)
            }
            throw failure.adding("; \(state)")
        }
    }

    private func reporting(_ body: () async throws(ImportFailure) -> Void) async throws(ShellError) {
        do throws(ImportFailure) { try await body() } catch { throw described(error) }
    }

    private func described(_ failure: ImportFailure) -> ShellError {
        switch failure {
        case .text(let error): .data("\(input.name): \(error)")
        case .tooLarge(let error): .data("\(input.name): \(error)")
        case .connection(let error): session.described(error)
        }
    }
}
