import Testing
import HearthSystem

@Suite("The memory that the process may use") struct MemoryTests {
    @Test("the least limit of a control group and those around it counts")
    func controlGroups() {
        let files = [
            "/sys/fs/cgroup/system.slice/hearth.service/memory.max": "max\n",
            "/sys/fs/cgroup/system.slice/memory.max": "1073741824\n",
            "/sys/fs/cgroup/memory.max": "4294967296\n",
        ]
        #expect(Memory.groupLimit("0::/system.slice/hearth.service\n") { files[$0] } == 1 << 30)
        #expect(Memory.groupLimit("0::/\n") { files[$0] } == 4 << 30)
        #expect(Memory.groupLimit("12:memory:/x\n0::/other\n") { files[$0] } == 4 << 30)
        #expect(Memory.groupLimit("12:memory:/x\n") { files[$0] } == .max)
        #expect(Memory.groupLimit("0::/\n") { _ in nil } == .max)
        #expect(Memory.byteCount > 64 << 20)
    }
}
