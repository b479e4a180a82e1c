import HearthEventLoop
import Glibc
import HearthShell
import HearthJSONTree
import HearthClientSession
import HearthConnection

extension Command {
    static let importing = Command(
        name: "import", synopsis: "PATH FILE|- [OPTIONS]",
        summary: "Read JSON of any size from a file, and write it to a path.",
        details: """
            PATH is /like/this or a whole URL, such as wss://HOST:PORT/like/this; / is the whole database.
            - reads standard input. The JSON is that of 'hearth export' or of the Firebase console: .priority
            and .value are understood.

            What is at PATH goes first; --merge keeps it, but for the children that the JSON names, which are
            replaced. The value is written bit by bit, so others see it grow; if the import breaks off, a part
            of it is there.

            A file is checked as a whole before anything is written. What comes from standard input is checked
            as it comes, and the error says how much of it is written. Exit code 65 says that the JSON is wrong.
            """,
        options: ServerAddress.options + [
            .init(name: "merge", value: nil, help: "keep what is there, but for the children that the JSON names"),
            .init(name: "yes", value: nil, help: "do not ask before what is there is replaced"),
        ]
    ) { arguments throws(UsageError) in
        let words = try arguments.positional("PATH", "FILE")
        let run = try ClientRun("import", arguments, at: words[0])
        let input = try InputFile(words[1])
        let job = ImportJob(
            run: run, input: input, merges: arguments.flag("merge"), isSure: arguments.flag("yes"))
        if let failure = job.check() { return failure }
        return run.onLoop { loop throws(ConnectionError) in try await job.perform(on: loop) }
    }
}

/// One import, step by step.
private struct ImportJob: Sendable {
    let run: ClientRun
    let input: InputFile
    let merges: Bool
    let isSure: Bool

    private var base: Path { run.address.url.path }

    /// Reads a file for its errors; nil if there are none.
    func check() -> ExitCode? {
        guard input.isRepeatable else { return nil }
        let progress = Progress("check", total: input.size)
        var reader = ImportReader(base: base, merges: merges)
        do throws(ImportFailure) {
            while let bytes = input.next() {
                reader.append(bytes)
                while let _ = try reader.next() {}
                progress.add(bytes.count)
            }
            progress.end()
            if let failure = input.failure { return run.complain(failure, .failure) }
            reader.finish()
            while let _ = try reader.next() {}
        } catch {
            progress.end()
            return complain(error, "; nothing was written")
        }
        return input.rewind() ? nil : run.complain(input.failure ?? "", .failure)
    }

    func perform(on loop: EventLoop) async throws(ConnectionError) -> ExitCode {
        if !merges, try await !isEmpty(loop) {
            if !isSure, let refusal = ask() { return refusal }
            run.announce("replace what is in \(base)")
        }
        var importer = Importer(try await run.connect(on: loop), base: base, merges: merges)
        let progress = Progress("import", total: input.size)
        do throws(ImportFailure) {
            while let bytes = input.next() {
                try await importer.append(bytes)
                progress.reach(importer.writtenOffset)
            }
            guard input.failure == nil else {
                try await importer.drain()
                progress.end()
                return run.complain(input.failure ?? "", .failure)
            }
            try await importer.finish()
            progress.reach(importer.writtenOffset)
            progress.end()
            return .success
        } catch {
            var failure = error
            if case .connection = failure {
            } else {
                do throws(ImportFailure) { try await importer.drain() } catch { failure = error }
            }
            progress.end()
            return complain(
                failure,
                importer.hasBegun
                    ? "; what stands before byte \(importer.writtenOffset) is written" : "; nothing was written")
        }
    }

    private func isEmpty(_ loop: EventLoop) async throws(ConnectionError) -> Bool {
        let call = try await run.request(query: "shallow=true&limitToFirst=1", on: loop)
        return try await call.answer(on: loop, options: run.address.options).elementsEqual("null".utf8)
    }

    /// Nil for a yes.
    private func ask() -> ExitCode? {
        let place = "\(base) at \(run.address.url)"
        guard input.isRepeatable, isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            return run.complain("\(place) is not empty: --yes replaces what is there, --merge keeps it", .failure)
        }
        StandardError.write("\(place) is not empty. Everything there will be replaced. Go on? [y/N] ")
        if let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) { return nil }
        return run.complain("nothing was written", .failure)
    }

    private func complain(_ failure: ImportFailure, _ addition: String) -> ExitCode {
        switch failure {
        case .text(let error): run.complain("\(input.name): \(error)\(addition)", .data)
        case .tooLarge(let error): run.complain("\(input.name): \(error)\(addition)", .data)
        case .connection(let error): run.complain(error, addition)
        }
    }
}
