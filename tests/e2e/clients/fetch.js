// The global fetch of node, which knows no proxy variables by itself: an agent
// of undici's is what people give it. It asks for a tunnel for http, too.
//
//	fetch.js HTTP HTTPS DENIED
const { ProxyAgent, setGlobalDispatcher } = require('undici');
const assert = require('assert');
const [http, https, denied] = process.argv.slice(2);

async function main() {
	setGlobalDispatcher(new ProxyAgent(process.env.HTTPS_PROXY));
	for (const url of [http, https])
		for (let i = 0; i < 20; i++) {
			const answer = await fetch(url + '/hello');
			assert.strictEqual(await answer.text(), 'hello\n');
		}
	const large = await (await fetch(https + '/large')).arrayBuffer();
	assert.strictEqual(large.byteLength, 8 << 20);
	await assert.rejects(fetch(denied));
	console.log('fetched');
}

// Idle connections and timers of the agent would keep it for some seconds.
main().then(() => process.exit(0), e => {
	console.error(e);
	process.exit(1);
});
