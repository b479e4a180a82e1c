package import HearthJSONTree

extension QueryIndex {
    /// Reads the text of `description`.
    package init?(description text: String) {
        switch text {
        case ".value": self = .value
        case ".key": self = .key
        case ".priority": self = .priority
        case _ where text.hasPrefix("["):
            let object = Array("{\"orderBy\":\(text)}".utf8)
            guard let orders = try? ConditionParser.query(object).conditions?.orders else { return nil }
            self = .conditions(ConditionQuery([], orders: orders))
        default:
            guard let path = try? Path(parsing: text), !path.isRoot else { return nil }
            self = .child(path)
        }
    }
}
