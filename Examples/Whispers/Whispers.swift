import HearthClient

/// Messages that the server removes after a time: 60 seconds, as the settings say, or sooner.
///
///     hearth-whispers say TEXT [SECONDS] [URL]
///     hearth-whispers listen [URL]                until Ctrl-C
@main
struct Whispers {
    static func main() async {
        var words = Array(CommandLine.arguments.dropFirst())
        let url = words.last?.hasPrefix("http") == true ? words.removeLast() : "http://127.0.0.1:9000"
        do {
            let database = try Database(url: url)
            let whispers = database.reference(withPath: "whispers")
            switch (words.first, words.count) {
            case ("say", 2...3):
                var whisper: DatabaseValue = ["text": .string(words[1]), "at": ServerValue.timestamp()]
                if words.count == 3 {
                    guard let seconds = Double(words[2]), seconds > 0 else { return usage() }
                    // By the server's clock, as that is the one that counts.
                    let now = try await database.serverTime()
                    whisper = [
                        "text": .string(words[1]), "at": ServerValue.timestamp(),
                        "until": .double(now + seconds * 1000),
                    ]
                }
                try await whispers.childByAutoId().setValue(whisper)
                await database.close()
            case ("listen", 1):
                for try await event in whispers.childEvents() {
                    switch event {
                    case .added(let whisper, _): print("+ \(whisper.value["text"].string ?? "")")
                    case .removed(let whisper): print("- \(whisper.value["text"].string ?? "")")
                    case .changed, .moved: break
                    }
                }
            default: usage()
            }
        } catch {
            print("hearth-whispers: \(error)")
        }
    }

    static func usage() { print("usage: hearth-whispers say TEXT [SECONDS] [URL] | listen [URL]") }
}

extension Database {
    /// Milliseconds since 1970 by the server's clock.
    func serverTime() async throws -> Double {
        let place = reference(withPath: "clocks").childByAutoId()
        try await place.setValue(ServerValue.timestamp())
        defer { place.removeValue() }
        return try await place.getData().value.double ?? 0
    }
}
