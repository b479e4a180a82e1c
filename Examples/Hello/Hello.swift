import HearthClient

/// Leaves a greeting, then prints the latest greetings, and each new one until Ctrl-C.
///
///     hearth-hello NAME [URL]
@main
struct Hello {
    static func main() async {
        let words = CommandLine.arguments
        guard (2...3).contains(words.count) else { return print("usage: hearth-hello NAME [URL]") }
        do {
            let database = try Database(url: words.count > 2 ? words[2] : "http://127.0.0.1:9000")
            let greetings = database.reference(withPath: "greetings")
            try await greetings.childByAutoId()
                .setValue(["from": words[1], "text": "Hello!", "at": ServerValue.timestamp()])
            for try await event in greetings.queryLimited(toLast: 5).childEvents() {
                guard case .added(let greeting, _) = event else { continue }
                print("\(greeting["from"].string ?? "Somebody"): \(greeting["text"].string ?? "")")
            }
        } catch {
            print("hearth-hello: \(error)")
        }
    }
}
