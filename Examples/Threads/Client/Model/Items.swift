import HearthClient

/// An author.
struct Creator: Hashable {
    let id: String
    /// First and last one.
    let name: String
}

/// A thread in the list of all.
struct ThreadItem: Identifiable, Hashable {
    let id: String
    let title: String
    let created: DatabaseTimestamp
    let creator: Creator
}

/// A message in a thread.
struct MessageItem: Identifiable, Hashable {
    let id: String
    let text: String
    let created: DatabaseTimestamp
    let creator: Creator
}

// The service's answers. Creators are next to the other members of their items.

extension Creator: Decodable {
    private enum CodingKeys: String, CodingKey {
        case id = "user_id"
        case first = "user_fname"
        case last = "user_lname"
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(String.self, forKey: .id)
        let names = [CodingKeys.first, .last].compactMap { try? values.decode(String.self, forKey: $0) }
        let name = names.filter { !$0.isEmpty }.joined(separator: " ")
        self.name = name.isEmpty ? "somebody" : name
    }
}

extension ThreadItem: Decodable {
    private enum CodingKeys: String, CodingKey {
        case id, title
        case created = "created_at"
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(String.self, forKey: .id)
        title = try values.decode(String.self, forKey: .title)
        created = try values.decode(DatabaseTimestamp.self, forKey: .created)
        creator = try Creator(from: decoder)
    }
}

extension MessageItem: Decodable {
    private enum CodingKeys: String, CodingKey {
        case id
        case text = "message"
        case created = "created_at"
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        id = try values.decode(String.self, forKey: .id)
        text = try values.decode(String.self, forKey: .text)
        created = try values.decode(DatabaseTimestamp.self, forKey: .created)
        creator = try Creator(from: decoder)
    }
}
