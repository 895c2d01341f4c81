// A member of a group by kafkajs.
//
// kafkajs has no rebalance listener; its instrumentation events tell the same: GROUP_JOIN names all
// partitions of the member ("full": true), REBALANCING says that it gives them up to join again, CRASH
// that it stops and, after an error that may pass, starts again.
'use strict'
const readline = require('readline')
const { Kafka, logLevel } = require('kafkajs')
const { version } = require('kafkajs/package.json')

const args = Object.fromEntries(
  process.argv.slice(2).map(word => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)])
)
const emit = (event, fields = {}) => process.stdout.write(JSON.stringify({ event, ...fields }) + '\n')
const names = byTopic =>
  Object.entries(byTopic).flatMap(([topic, list]) => list.map(partition => `${topic}:${partition}`)).sort()
const failure = error => ({
  code: typeof error.code === 'number' ? error.code : null,
  text: `${error.name}: ${error.message}`,
})
const log = () => ({ level, namespace, log: { message, error } }) =>
  console.error(new Date().toISOString(), level, namespace, message, error || '')

const kafka = new Kafka({
  clientId: args.client,
  brokers: args.bootstrap.split(','),
  logLevel: logLevel.INFO,
  logCreator: log,
})
const consumer = kafka.consumer({
  groupId: args.group,
  sessionTimeout: Number(args.session_ms),
  heartbeatInterval: Number(args.heartbeat_ms),
  ...(args.rebalance_ms && { rebalanceTimeout: Number(args.rebalance_ms) }),
  ...(args.metadata_ms && { metadataMaxAge: Number(args.metadata_ms) }),
})
const admin = kafka.admin() // the consumer itself has no call that reads committed offsets
let owned = []
let member = null
let polls = 0
let records = 0

consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  owned = names(payload.memberAssignment)
  member = payload.memberId
  emit('assigned', { partitions: owned, full: true, member_id: member })
})
const giveUp = event => {
  emit(event, { partitions: owned })
  owned = []
}
consumer.on(consumer.events.REBALANCING, () => giveUp('revoked'))
consumer.on(consumer.events.CRASH, ({ payload }) => {
  emit('error', failure(payload.error))
  giveUp('lost')
})
consumer.on(consumer.events.FETCH, () => { polls += 1 })

const place = word => {
  const colon = word.lastIndexOf(':')
  return { topic: word.slice(0, colon), partition: Number(word.slice(colon + 1)) }
}
const calls = {
  async commit(words) {
    await consumer.commitOffsets(words.map(word => {
      const [where, offset] = word.split('=')
      return { ...place(where), offset }
    }))
    return { member_id: member }
  },
  async fetch(words) {
    const topics = [...new Set(words.map(word => place(word).topic))]
    const found = await admin.fetchOffsets({ groupId: args.group, topics })
    const all = found.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset }) => [`${topic}:${partition}`, Number(offset)]))
    return { offsets: Object.fromEntries(all.filter(([name]) => words.includes(name))) }
  },
  async status() {
    return { polls, records, owned, member_id: member }
  },
}
const answers = { commit: 'committed', fetch: 'fetched', status: 'status' }

async function obey(line) {
  const [command, id, ...words] = line.trim().split(' ')
  if (command === 'leave') {
    await consumer.disconnect()
    emit('left')
    process.exit(0)
  }
  const result = { id: Number(id) }
  if (command === 'commit') {
    result.offsets = Object.fromEntries(words.map(word => word.split('=')).map(([p, o]) => [p, Number(o)]))
  }
  try {
    Object.assign(result, await calls[command](words))
  } catch (error) {
    result.error = failure(error)
  }
  emit(answers[command], result)
}

async function main() {
  await consumer.connect()
  await admin.connect()
  await consumer.subscribe({ topics: args.pattern ? [new RegExp(args.pattern)] : args.topics.split(',') })
  emit('ready', { library: `kafkajs ${version}` })
  readline.createInterface({ input: process.stdin }).on('line', obey).on('close', () => process.exit(0))
  await consumer.run({ autoCommit: false, eachMessage: async () => { records += 1 } })
}

main().catch(error => {
  emit('error', failure(error))
  process.exit(1)
})
