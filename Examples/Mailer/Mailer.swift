import HearthClient

/// Letters that workers send: a queue of jobs. Run as many workers as you like; each letter is sent by one of them.
///
///     hearth-mailer write NAME TEXT [URL]     adds a letter
///     hearth-mailer work NAME [URL]           sends letters until Ctrl-C
@main
struct Mailer {
    static func main() async {
        var words = Array(CommandLine.arguments.dropFirst())
        let url = words.last?.hasPrefix("http") == true ? words.removeLast() : "http://127.0.0.1:9000"
        do {
            let database = try Database(url: url)
            let mail = database.reference(withPath: "mail")
            switch (words.first, words.count) {
            case ("write", 3):
                try await mail.child("jobs").childByAutoId().setValue([
                    "to": .string(words[1]), "text": .string(words[2]),
                ])
                await database.close()
            case ("work", 2):
                print("\(words[1]) works")
                for try await job in mail.jobs() { try await send(job, as: words[1]) }
            default: print("usage: hearth-mailer write NAME TEXT [URL] | work NAME [URL]")
            }
        } catch {
            print("hearth-mailer: \(error)")
        }
    }

    static func send(_ job: DatabaseJob, as worker: String) async throws {
        guard let name = job.value["to"].string, let text = job.value["text"].string else {
            return try await job.giveUp("not a letter")
        }
        // A place that may be out of order: the letter is tried again later.
        guard name != "Nobody" else {
            print("\(worker): attempt \(job.attempts) for \(name) failed")
            return try await job.fail("\(name) is not at home")
        }
        print("\(worker): to \(name): \(text)")
        // The letter goes in the commit that says it was sent.
        try await job.done(updating: [
            "sent/\(job.key)": ["to": .string(name), "by": .string(worker), "at": ServerValue.timestamp()]
        ])
    }
}
