import HearthClient

/// Unique user names: the server refuses a name that is taken, in every write of every client.
///
///     hearth-names take USER NAME [URL]
///     hearth-names list [URL]
@main
struct Names {
    static func main() async {
        var words = Array(CommandLine.arguments.dropFirst())
        let url = words.last?.hasPrefix("http") == true ? words.removeLast() : "http://127.0.0.1:9000"
        do {
            let database = try Database(url: url)
            let users = database.reference(withPath: "users")
            switch (words.first, words.count) {
            case ("take", 3):
                do {
                    // Names that differ in case alone are one name.
                    try await users.child(words[1]).updateChildValues([
                        "name": .string(words[2]), "folded": .string(words[2].lowercased()),
                    ])
                    print("\(words[1]) is \(words[2])")
                } catch DatabaseError.permissionDenied {
                    print("\(words[2]) is taken")
                }
            case ("list", 1):
                for user in try await users.queryOrdered(byChild: "folded").getData().children {
                    print("\(user.key ?? "") is \(user.value["name"].string ?? "")")
                }
            default: print("usage: hearth-names take USER NAME [URL] | list [URL]")
            }
            await database.close()
        } catch {
            print("hearth-names: \(error)")
        }
    }
}
