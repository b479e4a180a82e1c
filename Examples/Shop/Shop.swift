import HearthClient

/// An order, as it is in the database.
struct Order: Codable, Sendable {
    var item: String
    var price: Double
    var state: String
}

/// The orders of a shop: the server keeps their number and the turnover, and finds open ones by price.
///
///     hearth-shop order ITEM PRICE | open [MINIMUM] | ship KEY | totals
@main
struct Shop {
    static let url = "http://127.0.0.1:9000"

    static func main() async {
        var words = Array(CommandLine.arguments.dropFirst())
        let url = words.last?.hasPrefix("http") == true ? words.removeLast() : url
        do {
            let database = try Database(url: url)
            let shop = database.reference(withPath: "shop")
            let orders = shop.child("orders")
            switch (words.first, words.count) {
            case ("order", 3):
                guard let price = Double(words[2]) else { return usage() }
                let order = orders.childByAutoId()
                try await order.setValue([
                    "item": .string(words[1]), "price": .double(price), "state": "open", "at": ServerValue.timestamp(),
                ])
                print(order.key ?? "")
            case ("open", 1...2):
                let minimum = words.count > 1 ? Double(words[1]) ?? 0 : 0
                let open = orders.where(
                    .child("state").isEqual(to: "open"), .child("price").isAtLeast(minimum)
                )
                .queryOrdered(by: .child("price").descending).queryLimited(toFirst: 20)
                for child in try await open.getPage().children {
                    let order = try child.data(as: Order.self)
                    print("\(child.key ?? "") \(order.item) \(order.price)")
                }
            case ("ship", 2): try await orders.child(words[1]).child("state").setValue("shipped")
            case ("totals", 1):
                let totals = try await shop.child("totals").getData().value
                print("\(totals["orders"].int ?? 0) orders, \(totals["turnover"].double ?? 0) in all")
            default: return usage()
            }
            await database.close()
        } catch {
            print("hearth-shop: \(error)")
        }
    }

    static func usage() { print("usage: hearth-shop order ITEM PRICE | open [MINIMUM] | ship KEY | totals [URL]") }
}
