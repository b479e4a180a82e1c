import HearthClient
import HearthHTTP

/// A letter for each order: a trigger tells this program of new orders, and it makes a job of each, which one worker
/// takes. If a part stops on the way, each order still gets exactly one letter.
///
///     hearth-receipts order NAME ITEM [URL]     adds an order
///     hearth-receipts listen ADDRESS [URL]      takes the events of the trigger until Ctrl-C
///     hearth-receipts work [URL]                sends letters until Ctrl-C
@main
struct Receipts {
    static func main() async {
        var words = Array(CommandLine.arguments.dropFirst())
        let url = words.last?.hasPrefix("http") == true ? words.removeLast() : "http://127.0.0.1:9000"
        do {
            let database = try Database(url: url)
            let letters = database.reference(withPath: "letters")
            switch (words.first, words.count) {
            case ("order", 3):
                let orders = database.reference(withPath: "orders")
                try await orders.childByAutoId().setValue(["name": .string(words[1]), "item": .string(words[2])])
            case ("listen", 2):
                var router = Router()
                router.post("/") { request in try await take(request.body, letters) }
                let server = try HTTPServer(listen: words[1], router: router)
                print("takes events at http://\(server.address)/")
                await server.untilSignal()
                server.stop()
            case ("work", 1):
                print("works")
                for try await job in letters.jobs() { try await send(job) }
            default:
                print("usage: hearth-receipts order NAME ITEM [URL] | listen ADDRESS [URL] | work [URL]")
            }
            await database.close()
        } catch {
            print("hearth-receipts: \(error)")
        }
    }

    /// Makes a job of an event. The job has the id of the event as its key, so an event that comes again makes no
    /// second one: the rules refuse it.
    static func take(_ body: [UInt8], _ letters: DatabaseReference) async throws -> Response {
        guard let event = try? DatabaseValue(json: body), let id = event["id"].string,
            let name = event["data"]["delta"]["name"].string, let item = event["data"]["delta"]["item"].string
        else { throw HTTPError(410, "This is not a new order.") }
        do {
            try await letters.child("jobs").child(id).setValue(["to": .string(name), "item": .string(item)])
            print("a letter to \(name)")
        } catch DatabaseError.permissionDenied {
            print("a letter to \(name) again")
        }
        // Any other error is a 500, after which the server sends the event again.
        return Response(204)
    }

    static func send(_ job: DatabaseJob) async throws {
        guard let name = job.value["to"].string, let item = job.value["item"].string else {
            return try await job.giveUp("not a letter")
        }
        print("Dear \(name), thank you for your order: \(item).")
        // In one commit with the end of the job, so that the rules know of the letter when the event comes again.
        try await job.done(updating: ["letters/sent/\(job.key)": ServerValue.timestamp()])
    }
}
