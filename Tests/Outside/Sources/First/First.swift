import HearthClient

@main
struct First {
    static func main() async throws {
        let url = CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:9000"
        let database = try Database(url: url)
        let greetings = database.reference(withPath: "greetings")
        try await greetings.childByAutoId().setValue(["text": "Hello!", "at": ServerValue.timestamp()])
        for try await event in greetings.queryLimited(toLast: 5).childEvents() {
            guard case .added(let greeting, _) = event else { continue }
            print(greeting["text"].string ?? "")
        }
    }
}
