const { Client } = require('pg');

const word = answer => answer ? 'True' : 'False';

async function main() {
	const db = new Client();
	await db.connect();
	const one = async (text, values) => (await db.query(text, values)).rows[0];
	const there = await one('SELECT hosts @> $1 AS a, hosts @> $2 AS b FROM month_filter', ['192.0.2.7', '192.0.2.200']);
	console.log(`192.0.2.7: ${word(there.a)}, 192.0.2.200: ${word(there.b)}`);
	console.log(`one of 5000 and 7: ${word((await one('SELECT bf_contains_any(uids, $1) AS a FROM month_filter', [[5000, 7]])).a)}`);
	console.log(`/page/1: ${Math.round((await one('SELECT tbf_count(hits, $1) AS n FROM month_filter', ['/page/1'])).n)} hits`);
	const like = { name: 'like', text: 'SELECT count(*) AS n FROM visit WHERE url LIKE $1', values: ['%page/3%'] };    // a name: prepared
	console.log(`like %page/3%: ${(await one(like)).n} visits`);
	console.log(`192.0.2.7: ${(await db.query("SELECT * FROM chunk_scan(NULL::visit, 'host', $1)", ['192.0.2.7'])).rows.length} visits`);
	const filter = await one('SELECT hosts, uids, hits FROM month_filter');
	await db.query('INSERT INTO month_filter VALUES (2, $1, $2, $3)', [filter.hosts, filter.uids, filter.hits]);
	console.log(`and back again: ${word((await one('SELECT count(DISTINCT hosts) AS n FROM month_filter')).n === '1')}`);
	await db.end();
}

main().catch(error => { console.error(error); process.exit(1); });
